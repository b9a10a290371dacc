import { scopeNames } from "@bikeshare/contract";
import { addSystem } from "../src/city/systems/service.ts";
import type { ActorContext, CommandContext } from "../src/command-context.ts";
import { insertMembership, insertPerson } from "../src/console/people/queries.ts";
import { startSession } from "../src/console/sessions/service.ts";
import { createIds } from "../src/ids.ts";
import { NetworkList } from "../src/outbound/addresses/address-guard.ts";
import { issueKey } from "../src/partners/keys/service.ts";
import { createPartner, type PartnerOptions } from "../src/partners/service.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../src/storage/db/database.ts";
import { migrate } from "../src/storage/db/migrate/migrate.ts";
import { dailyTables, dayOf } from "../src/storage/partitions/partition.rules.ts";
import { createPartitions } from "../src/storage/partitions/service.ts";

/* Creates the schema, systems, partners and people that a bench needs before a service runs on the database. */

/** A limit for requests a minute, and for reservations, that no load reaches. */
export const NO_LIMIT = 1_000_000_000;
export const SYSTEM_ID = "main";
/** Rules that allow the addresses of the benches' webhook receivers. */
export const LOOPBACK_RULES = {
  allowNetworks: new NetworkList(["127.0.0.0/8"]),
  allowPorts: [{ from: 1, to: 65_535 }],
};

/** The context of commands on a bench's database. */
export interface BenchContext extends ActorContext {
  readonly db: Database;
}

/** Connects to a database. Statements have no time limit unless `options` sets one. */
export function openContext(connectionString: string, options: Partial<DatabaseOptions> = {}): BenchContext {
  const clock = () => Date.now();
  const db = openDatabase({ connectionString, statementTimeoutMs: 0, ...options });
  return { db, clock, ids: createIds(clock), actor: "bench" };
}

/**
 * Creates the schema, the system, and the partitions of today and tomorrow, which a worker would create at its start. A
 * bench may run without a worker, and the number of partitions affects PostgreSQL's plans.
 */
export async function makeSystem(context: BenchContext, systemId = SYSTEM_ID): Promise<void> {
  await migrate(context.db);
  for (const table of dailyTables) await createPartitions(context.db, table, dayOf(context.clock()));
  await addSystem(context, systemId, "Bench");
}

/** Opens a context on an empty database, and creates the system. */
export async function openNewSystem(connectionString: string): Promise<BenchContext> {
  const context = openContext(connectionString);
  await makeSystem(context);
  return context;
}

/** A partner and its key. */
export interface PartnerKey {
  readonly partnerId: string;
  readonly key: string;
}

/** Creates a partner with a key for all scopes. @param rateLimit null: the default of 60 requests a minute */
export async function makePartner(
  context: ActorContext,
  name: string,
  { rateLimit = NO_LIMIT, ...options }: PartnerOptions & { readonly rateLimit?: number | null } = {},
  systemId = SYSTEM_ID,
): Promise<PartnerKey> {
  const { id: partnerId } = await createPartner(context, systemId, `${name} ${context.clock()}`, options);
  const issued = await issueKey(context, { systemId, partnerId, scopes: scopeNames, rateLimit });
  return { partnerId, key: issued.key };
}

/** Creates a key of the operator's backend. */
export async function makeOperatorKey(context: ActorContext, systemId = SYSTEM_ID): Promise<string> {
  const input = { systemId, partnerId: null, scopes: [], rateLimit: NO_LIMIT } as const;
  return (await issueKey(context, input)).key;
}

/** Creates a person who may read the pages of these partners (null: the operator's). @returns the id of the person */
export async function makePerson(
  { db, clock, ids }: CommandContext,
  partnerIds: readonly (string | null)[],
): Promise<string> {
  const [personId, createdAt] = [ids.next("person"), new Date(clock())];
  const email = `${personId.toLowerCase()}@example.com`;
  const proof = { by: "operator", systemId: null } as const;
  await insertPerson(db, { id: personId, email, name: "Bench", created_at: createdAt }, proof);
  for (const partnerId of partnerIds) {
    const id = ids.next("membership");
    await insertMembership(db, { id, systemId: SYSTEM_ID, personId, partnerId, role: "viewer", createdAt });
  }
  return personId;
}

/** Begins a new session of a person. Each session has a separate rate limit. @returns the cookie */
export async function signIn(context: CommandContext, personId: string): Promise<string> {
  const token = await startSession(context, personId, { address: "127.0.0.1", userAgent: "bench" });
  return `bikeshare_session=${token}`;
}
