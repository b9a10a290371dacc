import { once } from "node:events";
import { stat } from "node:fs/promises";
import { connect } from "node:net";
import { hostname } from "node:os";
import type { Config } from "../../config.ts";
import { START_REDIS } from "../../http/rate-limits/rate-limits.ts";
import { shellWord } from "../../printable.ts";
import { readSecretsOf } from "../../storage/backup/archive.ts";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import { UnknownSchemaError } from "../../storage/db/migrate/known-schema.ts";
import { isMigrated } from "../../storage/db/migrate/migrate.ts";
import { examineDistribution } from "../../storage/distribution/service.ts";
import { examineReplica } from "../../storage/replica/service.ts";
import { secretsPath } from "../../storage/secrets/secrets.ts";
import { acknowledgements } from "../checks/acknowledgements.ts";
import { type Acknowledgement, acknowledgementOf } from "../checks/check-state.rules.ts";
import { checked, type CheckResult, checkScopes, failure, isCheckName, ok, warning } from "../checks/check.ts";
import { allSystemChecks, databaseChecks, FAILED_CHECK, machineChecks, runChecks } from "../checks/list.ts";
import { checkRedis } from "../checks/machine-checks.ts";
import { activeChecks } from "../checks/stored-checks.ts";
import { judgeDistribution, judgeRole, judgeSettings, judgeUnusedIndex } from "./doctor.rules.ts";
import { findRoleRights, findSettings, findSynchronousStandbys, listUnusedIndexes } from "./queries.ts";

/* The checks of the command `doctor`: of this machine, and of the database and its data. */

/** Maximum time for another machine to accept a connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Checks this machine, and whether it reaches the others that the configuration names. */
export async function checkMachine(config: Config, now: number): Promise<CheckResult[]> {
  const found = await Promise.all([
    // Always recent enough: main.ts refuses an older Node.
    Promise.resolve([ok("node", `Node ${process.versions.node}`)]),
    checked("secrets file", "Name the file in SECRETS_FILE that the service has been using.", () =>
      checkSecretsFile(config),
    ),
    checked("redis", START_REDIS, () => checkRedis(config)),
    ...machineChecks(config, () => now).map(({ name, fix, find }) => checked(name, fix, find)),
    ...outboundAddresses(config).map(([variable, address]) =>
      checked(`${variable} reachable`, "Correct the address, or let the firewall pass it.", () =>
        checkReachable(variable, address),
      ),
    ),
  ]);
  return found.flat();
}

async function checkSecretsFile(config: Config): Promise<CheckResult> {
  const path = secretsPath(config);
  const { mode } = await stat(path);
  // 077: all rights of the file's group and of other accounts.
  if ((mode & 0o077) === 0 || process.platform === "win32") return ok("secrets file", path);
  return warning(
    "secrets file",
    `${path} can be read by other accounts of this machine`,
    `chmod 600 ${shellWord(path)}`,
  );
}

/** The machines that the service needs besides the databases and Redis, which other checks call, by variable. */
function outboundAddresses({
  gbfsSync,
  mail,
  identityProvider,
  alertWebhookUrl,
}: Config): [variable: string, address: URL][] {
  const named: readonly (readonly [string, string | undefined])[] = [
    ["GBFS_SYNC_URL", gbfsSync?.url],
    ["SMTP_URL", mail?.smtpUrl],
    ["OIDC_ISSUER", identityProvider?.issuer],
    ["ALERT_WEBHOOK_URL", alertWebhookUrl],
  ];
  return named.flatMap(([variable, address]) =>
    address === undefined ? [] : [[variable, new URL(address)] as [string, URL]],
  );
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "smtp:": 587, "smtps:": 465 };

async function checkReachable(variable: string, { hostname: name, port, protocol }: URL): Promise<CheckResult> {
  // A URL has IPv6 addresses in brackets, and an empty `port` where it names none.
  const to = {
    host: name.replace(/^\[|\]$/g, ""),
    port: Number(port) || (DEFAULT_PORTS[protocol] ?? 443),
  };
  const socket = connect(to);
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return ok(`${variable} reachable`, `${to.host}:${to.port} accepts connections`);
  } finally {
    socket.destroy();
  }
}

const MIN_UNUSED_INDEX_BYTES = 100 * 1024 ** 2;

interface DatabaseCheckOptions {
  readonly connectionString: string;
  readonly config: Config;
  readonly clock: () => number;
  /** The results of `checkMachine`. */
  readonly machine: readonly CheckResult[];
}

/**
 * Checks the database and its data. Changes nothing, and does not migrate.
 * @returns the database's results, and those of the machine with the acknowledgements that the database knows
 */
export async function checkDatabase({
  connectionString,
  config,
  clock,
  machine,
}: DatabaseCheckOptions): Promise<Record<"database" | "machine", readonly DoctorResult[]>> {
  // `mayBeStandby`: `judgeSettings` reports a standby, which must be connected to for that.
  const db = openDatabase({ connectionString, maxConnections: 2, statementTimeoutMs: 30_000, mayBeStandby: true });
  let marked: readonly DoctorResult[] = machine;
  try {
    const database = await checked("database", "Start it, or correct DATABASE_URL.", async () => {
      const settings = await findSettings(db);
      const found = [...judgeSettings(settings, clock()), judgeRole(await findRoleRights(db))];
      const schema = await checkSchema(db);
      if (schema.status === "failure") return [...found, schema];
      const mark = withAcknowledgements(await acknowledgements(db), clock());
      marked = mark(hostname(), machine);
      const replica = await checkReplica(db, config.databaseReplicaUrl);
      const distribution = await checkDistribution(db);
      return [
        ...found,
        schema,
        ...replica,
        ...distribution,
        ...(await checked("unused indexes", FAILED_CHECK, () => checkIndexUse(db))),
        ...(await checkData(db, config, clock, mark)),
      ];
    });
    return { database, machine: marked };
  } finally {
    await db.close();
  }
}

async function checkSchema(db: Database): Promise<CheckResult> {
  try {
    if (await isMigrated(db)) return ok("schema", "up to date");
  } catch (error) {
    if (error instanceof UnknownSchemaError) return failure("schema", `unknown: ${error.found}`, error.advice);
    throw error;
  }
  const fix = "Run `bikeshare migrate`, or start the service, which does so.";
  return failure("schema", "it is older than this program, or newer", fix);
}

/** Checks a database that Citus distributes. Another database gives no results. */
function checkDistribution(db: Database): Promise<CheckResult[]> {
  return checked("citus", "Look at the logs of PostgreSQL, on each machine.", async () => {
    const state = await examineDistribution(db);
    return state === undefined ? [] : judgeDistribution(state);
  });
}

/** Checks for large indexes that nothing uses. */
async function checkIndexUse(db: Database): Promise<CheckResult[]> {
  const unused = await listUnusedIndexes(db, MIN_UNUSED_INDEX_BYTES);
  return unused.length === 0 ? [ok("unused indexes", "each large one is used")] : unused.map(judgeUnusedIndex);
}

/** A result of `doctor`. */
export interface DoctorResult extends CheckResult {
  /** The acknowledgement of the result. An acknowledged result does not make `doctor` fail. */
  readonly acknowledged?: { readonly at: Date; readonly until: Date | null };
}

async function checkData(
  db: Database,
  config: Config,
  clock: () => number,
  mark: ReturnType<typeof withAcknowledgements>,
): Promise<DoctorResult[]> {
  const secrets = await checked("secrets", "Set SECRETS_FILE as the service has it.", async () => {
    await readSecretsOf(db, secretsPath(config));
    return ok("secrets", "the file is the one that the database is used with");
  });
  const checks = [...databaseChecks(db, config, clock), ...(await allSystemChecks({ ...config, db, clock }))];
  const run = (await runChecks(checks)).map(({ check: { of }, results }) => ({ of, results }));
  const all = [...run, ...(await foundByProcesses(db))].flatMap(({ of, results }) => mark(of, results));
  return [...secrets, ...all];
}

/** Returns a function that adds their acknowledgements to the results of a scope, such as a machine. */
function withAcknowledgements(known: readonly Acknowledgement[], now: number) {
  return (of: string, results: readonly CheckResult[]): DoctorResult[] =>
    results.map((result) => {
      const acknowledgement = result.status === "ok" ? undefined : acknowledgementOf(known, of, result, now);
      if (acknowledgement === undefined) return result;
      return { ...result, acknowledged: { at: acknowledgement.at, until: acknowledgement.until } };
    });
}

interface FoundElsewhere {
  readonly of: string;
  readonly results: readonly CheckResult[];
}

/**
 * Returns what the service's processes have found about themselves and their machines, each with its machine. Leaves out what
 * they found about this machine, which `checkMachine` checks itself.
 */
async function foundByProcesses(db: Database): Promise<FoundElsewhere[]> {
  const isOfProcesses = ({ name, of }: { readonly name: string; readonly of: string }) => {
    const scope = isCheckName(name) ? checkScopes[name] : undefined;
    return scope === "process" || (scope === "machine" && of !== hostname());
  };
  const active = (await activeChecks(db)).filter(isOfProcesses);
  const found = active.map(({ of, results }) => ({
    of,
    results: results.map((result) => ({ ...result, detail: `${of}: ${result.detail}` })),
  }));
  return found.some(({ results }) => results.some(({ check }) => check === BACKGROUND_WORK))
    ? found
    : [{ of: "", results: [ok(BACKGROUND_WORK, "no process says that any of it stands still")] }, ...found];
}

const BACKGROUND_WORK = "background work";

/** Maximum milliseconds for a replica to catch up. A slower one answers no reads anyway. */
const REPLAY_TIMEOUT_MS = 5_000;

/** Checks whether the replica, if one is configured, follows the primary and could take over without losing commits. */
export async function checkReplica(db: Database, replicaUrl: string | undefined): Promise<CheckResult[]> {
  if (replicaUrl === undefined) return [];
  return [
    ...(await checked("replica", "Start it, or correct DATABASE_REPLICA_URL.", () => judgeReplica(db, replicaUrl))),
    ...(await checked("failover", "Look at the log of PostgreSQL.", () => checkSynchronous(db))),
  ];
}

async function judgeReplica(db: Database, replicaUrl: string): Promise<CheckResult> {
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

async function checkSynchronous(db: Database): Promise<CheckResult> {
  const names = await findSynchronousStandbys(db);
  if (names !== "") return ok("failover", "commits wait for a replica: one that takes over has them");
  return warning(
    "failover",
    "commits wait for no replica: one that takes over may lack the last of them",
    "Patroni: synchronous_mode: true. By hand: alter system set synchronous_standby_names = '*'; select pg_reload_conf(). " +
      "Leave it if this replica never takes over.",
  );
}
