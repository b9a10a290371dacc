import { systemsOf } from "../../city/systems/service.ts";
import type { Config } from "../../config.ts";
import { readSecretsOf } from "../../storage/backup/secrets.ts";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import { UnknownSchemaError } from "../../storage/db/migrate/known-schema.ts";
import { isMigrated } from "../../storage/db/migrate/migrate.ts";
import { examineDistribution } from "../../storage/distribution/examine.ts";
import { examineReplica } from "../../storage/replica/service.ts";
import { secretsPath } from "../../storage/secrets/secrets.ts";
import { BACKGROUND_WORK, databaseChecks } from "../alerts/checks.ts";
import { checked, failure, type Finding, ok, warning } from "../alerts/finding.ts";
import { activeAlerts } from "../alerts/service.ts";
import type { SystemOverviewContext } from "../overview/partner-overview.ts";
import { systemOverview } from "../overview/system-overview.ts";
import { judgeDistribution } from "./distribution-check.rules.ts";
import { findRoleRights, findSettings, findSynchronousStandbys, listUnusedIndexes } from "./queries.ts";
import { judgeRole, judgeSettings, judgeUnusedIndex } from "./settings.rules.ts";

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
      const found = [...judgeSettings(settings, clock()), judgeRole(await findRoleRights(db))];
      const schema = await checkSchema(db);
      if (schema.status === "failure") return [...found, schema];
      const replica = await checkReplica(db, config.databaseReplicaUrl);
      const distribution = await checkDistribution(db);
      return [
        ...found,
        schema,
        ...replica,
        ...distribution,
        ...(await checked("unused indexes", FAILED_CHECK, () => checkUse(db))),
        ...(await checkData(db, config, clock)),
      ];
    });
  } finally {
    await db.close();
  }
}

async function checkSchema(db: Database): Promise<Finding> {
  try {
    if (await isMigrated(db)) return ok("schema", "up to date");
  } catch (error) {
    if (error instanceof UnknownSchemaError) return failure("schema", `unknown: ${error.found}`, error.advice);
    throw error;
  }
  const fix = "Run `bikeshare migrate`, or start the service, which does so.";
  return failure("schema", "it is older than this program, or newer", fix);
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
  return unused.length === 0 ? [ok("unused indexes", "each large one is used")] : unused.map(judgeUnusedIndex);
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
    found.push(await checked(systemId, FAILED_CHECK, () => checkSystem(db, systemId, { ...config, clock })));
  return found.flat();
}

/** What stands still in the processes of the service, as they have found themselves. */
async function checkBackgroundWork(db: Database): Promise<readonly Finding[]> {
  const found = (await activeAlerts(db)).filter(({ name }) => name === BACKGROUND_WORK);
  if (found.length === 0) return [ok(BACKGROUND_WORK, "no process says that any of it stands still")];
  return found.map(({ scope, detail, fix }) => failure(BACKGROUND_WORK, `${scope}: ${detail}`, fix));
}

/** Problems that the checks of the database name as well. */
const CHECKED_BY_ITSELF: ReadonlySet<string> = new Set(["alert", "long_rides"]);

async function checkSystem(
  db: Database,
  systemId: string,
  context: Omit<SystemOverviewContext, "db">,
): Promise<Finding[]> {
  const found: Finding[] = [];
  const { problems } = await systemOverview({ db, ...context }, systemId);
  // What partners have to do is theirs, and on the overview; what alerts are about has been looked at by itself.
  const ours = problems.filter(
    ({ partner_id: partner, severity, code }) =>
      partner === null && severity !== "info" && !CHECKED_BY_ITSELF.has(code),
  );
  for (const { severity, text, action } of ours)
    found.push((severity === "danger" ? failure : warning)(systemId, text, action));
  return found.length === 0 ? [ok(systemId, "its overview names no problem of the operator's")] : found;
}

/** One that takes longer answers no reads anyway. */
const REPLAY_TIMEOUT_MS = 5_000;

/** Whether the replica, if there is one, follows the primary, and whether it may take its part. */
export async function checkReplica(db: Database, replicaUrl: string | undefined): Promise<Finding[]> {
  if (replicaUrl === undefined) return [];
  return [
    ...(await checked("replica", "Start it, or correct DATABASE_REPLICA_URL.", () => judgeReplica(db, replicaUrl))),
    ...(await checked("failover", "Look at the log of PostgreSQL.", () => checkSynchronous(db))),
  ];
}

async function judgeReplica(db: Database, replicaUrl: string): Promise<Finding> {
  switch (await examineReplica(db, replicaUrl, REPLAY_TIMEOUT_MS)) {
    case "current":
      return ok("replica", "it follows the primary");
    case "unused":
      return ok("replica", "it is one; no process has used it yet, so that it is not known whom it follows");
    case "behind":
      return warning(
        "replica",
        `it lags by more than ${REPLAY_TIMEOUT_MS / 1_000} s: the primary answers all reads`,
        "Look whether it streams: select * from pg_stat_wal_receiver, and at its disk and its long statements.",
      );
    case "promoted":
      return failure(
        "replica",
        "it is a primary, and is left out",
        "Name a server that follows the one in DATABASE_URL, or unset DATABASE_REPLICA_URL.",
      );
    case "unrelated":
      return failure(
        "replica",
        "it does not follow the server that DATABASE_URL names, and is left out",
        "Rebuild it from that server, or correct DATABASE_REPLICA_URL.",
      );
  }
}

async function checkSynchronous(db: Database): Promise<Finding> {
  const names = await findSynchronousStandbys(db);
  if (names !== "") return ok("failover", "commits wait for a replica: one that takes over has them");
  return warning(
    "failover",
    "commits wait for no replica: one that takes over may lack the last of them",
    "Patroni: synchronous_mode: true. By hand: alter system set synchronous_standby_names = '*'; select pg_reload_conf(). " +
      "Leave it if this replica never takes over.",
  );
}
