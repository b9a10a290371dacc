import type { ActorContext } from "../../command-context.ts";
import { insertActOf } from "../audit/queries.ts";
import {
  type ForgetScope,
  listJsonTables,
  listPartnersWith,
  listSandboxesOf,
  listTablesWith,
  listUnderWay,
  type PartnerWithRider,
  updateAnswers,
  updateJson,
  updateRequests,
  updateReservations,
} from "./queries.ts";

/* Forgets a rider, for the command `forget`: removes the rider's reference from everything that is stored. */

/** Maximum number of passes over all tables. A later pass changes rows that were written during an earlier one. */
const MAX_PASSES = 3;
/** Time after which processes have written what they had in memory, except webhooks. The request log is written each second. */
const WRITE_DELAY_MS = 2_000;
/** Milliseconds between two checks of the webhooks under way. */
const POLL_INTERVAL_MS = 500;
/** Maximum number of checks, which take 60 s. A receiver has 15 s to answer. */
const MAX_POLLS = 120;

/** The number of rows from which a reference was removed, by table. */
export type ForgottenRows = Readonly<Record<string, number>>;

export interface ForgetContext extends ActorContext {
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** A rider to forget: partners choose references, so two may have the same one for two people. */
export interface ForgottenRider {
  readonly riderRef: string;
  /** Default: the only one that has used the reference. */
  readonly partnerId?: string | undefined;
}

/**
 * Removes a rider's reference from everything that is stored of a system and of its partners' sandboxes: reservations,
 * events, webhooks and their log, stored answers to repeated requests, and details of rejected requests. Waits for the
 * webhooks that are being sent, because they are logged afterwards. Then searches all tables (except trip files) for the
 * reference (`listTablesWith`).
 * @throws Error when the reference is still stored because more is being written, or webhooks that may name it are
 * still being sent (then run it again), or when `partnerId` is left out and several partners have used it
 */
export async function forgetRider(
  context: ForgetContext,
  systemId: string,
  { riderRef, partnerId }: ForgottenRider,
): Promise<ForgottenRows> {
  const { db } = context;
  const sandboxes = await listSandboxesOf(db, { systemId, partnerId: partnerId ?? null });
  const systems = [systemId, ...sandboxes];
  // Null: no reservation has the reference. Then all partners' rows are searched.
  const whose = partnerId ?? (await onlyPartner(context, systems, riderRef));
  const rows: Record<string, number> = {};
  const eraseIn = async (scope: ForgetScope) => {
    let left: readonly string[] = [];
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      left = await eraseOnce(context, scope, riderRef, rows);
      if (left.length === 0) break;
    }
    return left;
  };
  const erase = async () => {
    const left = new Set<string>();
    for (const each of systems)
      for (const table of await eraseIn({ systemId: each, partnerId: whose })) left.add(table);
    return [...left];
  };
  // Erases twice: first what is stored, then what processes had in memory and have written meanwhile.
  await erase();
  const isWritten = await untilWritten(context, systems);
  const left = await erase();
  // The reference itself is not recorded: that would keep it.
  await db.transaction((tx) =>
    insertActOf(context, tx, { systemId, action: "rider.forgotten", subject: systemId, detail: rows }),
  );
  if (left.length > 0)
    throw new Error(
      `The reference is still in ${left.join(", ")}, where it may have been written meanwhile: run the command again.`,
    );
  if (!isWritten)
    throw new Error(
      "The reference was removed, but webhooks that may name it are still being sent, and are logged afterwards: run the command again in a minute, while a worker runs.",
    );
  return rows;
}

/**
 * Returns the only partner that has used a reference; null: none has.
 * @param systems a system, and its partners' sandboxes, in which a partner has the same id
 * @throws Error when several partners have used the reference
 */
async function onlyPartner(
  { db }: ForgetContext,
  systems: readonly string[],
  riderRef: string,
): Promise<string | null> {
  const partners = new Map<string, PartnerWithRider>();
  for (const systemId of systems)
    for (const partner of await listPartnersWith(db, systemId, riderRef)) partners.set(partner.id, partner);
  if (partners.size <= 1) return [...partners.keys()][0] ?? null;
  const named = [...partners.values()].map(({ id, name }) => `${id} (${JSON.stringify(name)})`).join(", ");
  throw new Error(
    `Several partners use this reference, each for a rider of its own: ${named}. Name the one whose rider is to be forgotten with --partner.`,
  );
}

/** Adds the changed rows to `rows`. @returns the tables that still have the reference */
async function eraseOnce(
  { db, clock }: ForgetContext,
  scope: ForgetScope,
  riderRef: string,
  rows: Record<string, number>,
): Promise<readonly string[]> {
  const quoted = JSON.stringify(riderRef);
  const written = { json: `"rider_ref":${quoted}`, quoted };
  const add = (table: string, n: number) => (rows[table] = (rows[table] ?? 0) + n);
  add("reservations", await updateReservations(db, scope, riderRef, new Date(clock())));
  for (const table of listJsonTables())
    add(table.table, await updateJson(db, scope, table, [written.json, '"rider_ref":null']));
  add("webhook_attempts", await updateAnswers(db, scope, quoted));
  add("request_log", await updateRequests(db, scope, riderRef));
  return listTablesWith(db, scope, riderRef, written);
}

/** Waits until processes have written what they have in memory now. @returns false when some is unwritten after a minute */
async function untilWritten({ db, sleep }: ForgetContext, systems: readonly string[]): Promise<boolean> {
  const listClaims = async () => {
    const claims: string[] = [];
    for (const systemId of systems)
      for (const claim of await listUnderWay(db, systemId)) claims.push(`${systemId} ${claim}`);
    return claims;
  };
  let underWay = await listClaims();
  await sleep(WRITE_DELAY_MS);
  for (let poll = 0; underWay.length > 0 && poll < MAX_POLLS; poll++) {
    await sleep(POLL_INTERVAL_MS);
    // Later attempts do not count: they carry payloads from which the reference was removed.
    const current = new Set(await listClaims());
    underWay = underWay.filter((claim) => current.has(claim));
  }
  return underWay.length === 0;
}
