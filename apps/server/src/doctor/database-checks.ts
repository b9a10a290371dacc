import { BACKGROUND_WORK, databaseChecks } from "../alerts/checks.ts";
import { activeAlerts } from "../alerts/service.ts";
import { readSecretsOf } from "../backup/secrets.ts";
import type { Config } from "../config.ts";
import { type Database, openDatabase } from "../db/database.ts";
import { isMigrated } from "../db/migrate/migrate.ts";
import { examineDistribution } from "../distribution/examine.ts";
import type { OverviewContext } from "../overview/partner-overview.ts";
import { systemOverview } from "../overview/system-overview.ts";
import { secretsPath } from "../secrets.ts";
import { systemsOf } from "../systems/service.ts";
import { judgeDistribution } from "./distribution-check.rules.ts";
import { checked, failure, type Finding, ok, warning } from "./finding.ts";
import { findSettings, listUnusedIndexes, type ServerSettings } from "./queries.ts";
import { checkReplica } from "./replica-check.ts";

/** The oldest PostgreSQL that is supported, as PostgreSQL counts. */
const MIN_VERSION = 150_000;
/** Connections of one process that does everything. */
const CONNECTIONS_OF_A_PROCESS = 30;
/** A clock that differs by more lets keys and reservations expire early or late. */
const MAX_CLOCK_DIFFERENCE_MS = 2_000;
const MIN_UNUSED_INDEX_BYTES = 100 * 1024 ** 2;

/** Where a statement of ours fails on a schema that it knows. */
const FAILED_CHECK = "Look at the log of PostgreSQL.";

export interface DatabaseCheckOptions {
  readonly connectionString: string;
  readonly config: Config;
  readonly clock: () => number;
}

/** What the database and what is stored in it say. Changes nothing, and does not migrate. */
export async function checkDatabase({ connectionString, config, clock }: DatabaseCheckOptions): Promise<Finding[]> {
  const db = openDatabase({ connectionString, maxConnections: 2, statementTimeoutMs: 30_000, mayBeStandby: true });
  try {
    return await checked("database", "Start it, or correct DATABASE_URL.", async () => {
      const settings = await findSettings(db);
      const found = [...checkSettings(settings, clock()), ...(await checkUse(db))];
      if (!(await isMigrated(db))) {
        const fix = "Run `bikeshare migrate`, or start the service, which does so.";
        return [...found, failure("schema", "it is older than this program, or newer", fix)];
      }
      const replica = await checkReplica(db, config.databaseReplicaUrl);
      const distribution = await checkDistribution(db);
      return [
        ...found,
        ok("schema", "up to date"),
        ...replica,
        ...distribution,
        ...(await checkData(db, config, clock)),
      ];
    });
  } finally {
    await db.close();
  }
}

function checkSettings(settings: ServerSettings, now: number): Finding[] {
  const { version, max_connections: connections } = settings;
  const name = `PostgreSQL ${Math.floor(version / 10_000)}`;
  const difference = Math.abs(settings.now.getTime() - now);
  const free = connections - settings.superuser_reserved_connections;
  return [
    version < MIN_VERSION ? failure("database", `${name} is too old`, "Upgrade to 15 or newer.") : ok("database", name),
    settings.is_replica
      ? failure("database writes", "this is a replica, which takes no writes", "Name the primary in DATABASE_URL.")
      : ok("database writes", "it is not a replica"),
    checkDurability(settings),
    settings.autovacuum
      ? ok("autovacuum", "on")
      : failure(
          "autovacuum",
          "off: tables grow, and lists become slow",
          "alter system set autovacuum = on; select pg_reload_conf()",
        ),
    free < CONNECTIONS_OF_A_PROCESS
      ? warning(
          "connections",
          `${free} for all processes; one that does everything uses ${CONNECTIONS_OF_A_PROCESS}`,
          "Raise max_connections, or run a pool per process.",
        )
      : ok(
          "connections",
          `${free}, enough for ${Math.floor(free / CONNECTIONS_OF_A_PROCESS)} processes that do everything`,
        ),
    difference > MAX_CLOCK_DIFFERENCE_MS
      ? warning(
          "clock",
          `this machine's and the database's differ by ${(difference / 1_000).toFixed(1)} s`,
          "Set both by NTP: `timedatectl set-ntp true`.",
        )
      : ok("clock", "the same as the database's"),
  ];
}

function checkDurability({ fsync, full_page_writes, synchronous_commit }: ServerSettings): Finding {
  const off = [
    ...(fsync ? [] : ["fsync"]),
    ...(full_page_writes ? [] : ["full_page_writes"]),
    ...(synchronous_commit === "off" ? ["synchronous_commit"] : []),
  ];
  if (off.length === 0) return ok("durability", "what was acknowledged survives a power failure");
  const commands = off.map((setting) => `alter system set ${setting} = on`).join("; ");
  return failure(
    "durability",
    `${off.join(", ")} off: a power failure loses what was acknowledged`,
    `${commands}; select pg_reload_conf()`,
  );
}

/** Of a database that Citus distributes. */
function checkDistribution(db: Database): Promise<Finding[]> {
  return checked("citus", "Look at the logs of PostgreSQL, on each machine.", async () => {
    const state = await examineDistribution(db);
    return state === undefined ? [] : judgeDistribution(state);
  });
}

async function checkUse(db: Database): Promise<Finding[]> {
  const unused = await listUnusedIndexes(db, MIN_UNUSED_INDEX_BYTES);
  const megabytes = (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MiB`;
  return [
    ...unused.map(({ index, bytes }) =>
      warning(
        "unused indexes",
        `${index} (${megabytes(bytes)}) was not used for a week`,
        "Leave it if replicas use it; otherwise tell us.",
      ),
    ),
  ];
}

async function checkData(db: Database, config: Config, clock: () => number): Promise<Finding[]> {
  const systems = (await systemsOf(db)).map((system) => system.system_id);
  const found = [
    await checked("secrets", "Set SECRETS_FILE as the service has it.", async () => {
      await readSecretsOf(db, secretsPath(config));
      return ok("secrets", "the file is the one that the database is used with");
    }),
  ];
  for (const { name, fix, find } of databaseChecks(db, config, clock)) found.push(await checked(name, fix, find));
  found.push(await checked(BACKGROUND_WORK, FAILED_CHECK, () => checkBackgroundWork(db)));
  for (const systemId of systems)
    found.push(
      await checked(systemId, FAILED_CHECK, () => checkSystem(db, systemId, { clock, rateLimit: config.rateLimit })),
    );
  return found.flat();
}

/** What stands still in the processes of the service, as they have found themselves. */
async function checkBackgroundWork(db: Database): Promise<readonly Finding[]> {
  const found = (await activeAlerts(db)).filter(({ name }) => name === BACKGROUND_WORK);
  if (found.length === 0) return [ok(BACKGROUND_WORK, "no process says that any of it stands still")];
  return found.map(({ scope, detail, fix }) => failure(BACKGROUND_WORK, `${scope}: ${detail}`, fix));
}

async function checkSystem(
  db: Database,
  systemId: string,
  context: Pick<OverviewContext, "clock" | "rateLimit">,
): Promise<Finding[]> {
  const found: Finding[] = [];
  const { problems } = await systemOverview({ db, ...context }, systemId);
  // What partners have to do is theirs, and on the overview; what alerts are about has been looked at by itself.
  const ours = problems.filter(
    ({ partner_id: partner, severity, code }) => partner === null && severity !== "info" && code !== "alert",
  );
  for (const { severity, text, action } of ours)
    found.push((severity === "danger" ? failure : warning)(systemId, text, action));
  return found.length === 0 ? [ok(systemId, "its overview names no problem of the operator's")] : found;
}
