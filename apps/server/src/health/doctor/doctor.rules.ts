import type { Config } from "../../config.ts";
import type { DatabaseNode, DistributionState } from "../../storage/distribution/service.ts";
import { type CheckResult, failure, ok, warning } from "../checks/check.ts";
import { MAX_DIFFERENCE_MS } from "../conditions/service-clock.ts";
import type { RoleRights, ServerSettings } from "./queries.ts";

/* Judges the configuration and PostgreSQL for the command `doctor`. */

/** The settings that are judged by themselves. */
type JudgedConfig = Pick<Config, "host" | "publicUrl" | "tls" | "redisUrl" | "backups" | "databaseUrl" | "warnings"> & {
  readonly trustedProxies: { readonly networks: readonly string[] };
};

/** Checks the configuration alone, without looking at anything else. */
export function checkConfiguration(config: JudgedConfig): CheckResult[] {
  const typos = config.warnings.map((text) =>
    warning("configuration", text, "Correct the name, or remove the variable."),
  );
  const all = typos.length === 0 ? [ok("configuration", "every variable has a valid value")] : typos;
  return [...all, checkTransport(config), checkBackupSchedule(config)];
}

/** Requests over plain HTTP are refused unless they come from this machine: see docs/decisions/keys.md. */
function checkTransport({ host, tls, trustedProxies, publicUrl }: JudgedConfig): CheckResult {
  const isBehindProxy = trustedProxies.networks.length > 0;
  const isPublicHttps = publicUrl?.startsWith("https://") === true;
  if (tls !== undefined || isBehindProxy) {
    const how = tls === undefined ? `by the proxies ${trustedProxies.networks.join(", ")}` : "by the service itself";
    if (isPublicHttps) return ok("https", `served ${how}`);
    return warning(
      "https",
      `served ${how}, but links and documents show another address`,
      "Set PUBLIC_URL to the https address that partners use.",
    );
  }
  // On loopback with a public https address there must be a proxy in front, which TRUSTED_PROXIES does not name.
  if (!isLoopback(host) || isPublicHttps) {
    return failure(
      "https",
      "requests from other machines arrive over plain HTTP, and are answered 403 https_required",
      "Set TLS_CERT_FILE and TLS_KEY_FILE, or put a proxy with TLS in front and name its address in TRUSTED_PROXIES.",
    );
  }
  return ok("https", `not needed: only this machine can connect to ${host}`);
}

function checkBackupSchedule({ backups, databaseUrl }: JudgedConfig): CheckResult {
  if (backups !== undefined)
    return ok("backup schedule", `every ${backups.intervalMs / 3_600_000} h into ${backups.directory}`);
  const fix = "Set BACKUP_DIR, or run `bikeshare backup <directory>` from a timer.";
  if (databaseUrl === undefined) return warning("backup schedule", "the service makes no backups by itself", fix);
  return ok("backup schedule", "not by the service; DATABASE_URL is backed up by whoever runs it");
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/** The oldest supported PostgreSQL, as a `server_version_num`. */
const MIN_VERSION = 150_000;
/** Maximum connections of one process that does everything, on 20 processors: docs/configuration.md has the sum. */
const CONNECTIONS_OF_A_PROCESS = 30;
/** The connections that the remedy gives all processes: enough for three such processes. */
const CONNECTIONS_TO_OFFER = 100;

/** Judges PostgreSQL's settings and its clock. */
export function judgeSettings(settings: ServerSettings, now: number): CheckResult[] {
  const { version, max_connections: connections } = settings;
  const name = `PostgreSQL ${Math.floor(version / 10_000)}`;
  const difference = Math.abs(settings.now.getTime() - now);
  const free = connections - settings.superuser_reserved_connections;
  return [
    version < MIN_VERSION ? failure("database", `${name} is too old`, "Upgrade to 15 or newer.") : ok("database", name),
    settings.is_replica
      ? failure("database writes", "this is a replica, which takes no writes", "Name the primary in DATABASE_URL.")
      : ok("database writes", "it is not a replica"),
    judgeDurability(settings),
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
          `${free} for all processes; one that does everything uses up to ${CONNECTIONS_OF_A_PROCESS}`,
          // The connections that are reserved for superusers come on top.
          `alter system set max_connections = ${connections - free + CONNECTIONS_TO_OFFER}, and restart PostgreSQL.`,
        )
      : ok(
          "connections",
          `${free}, enough for ${Math.floor(free / CONNECTIONS_OF_A_PROCESS)} processes that do everything`,
        ),
    difference > MAX_DIFFERENCE_MS
      ? warning(
          "clock",
          `this machine's and the database's differ by ${(difference / 1_000).toFixed(1)} s`,
          "Set both by NTP: `timedatectl set-ntp true`.",
        )
      : ok("clock", "the same as the database's"),
  ];
}

function judgeDurability({ fsync, full_page_writes, synchronous_commit }: ServerSettings): CheckResult {
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

/** Warns of rights that the service's role does not need: an attacker who takes over the service has them too. */
export function judgeRole({ role, is_superuser, is_first, ...rights }: RoleRights): CheckResult {
  const tooMany = [
    ...(is_superuser ? ["superuser"] : []),
    ...(rights.may_create_roles ? ["createrole"] : []),
    ...(rights.may_bypass_row_security ? ["bypassrls"] : []),
  ];
  const check = "database role";
  if (tooMany.length === 0) return ok(check, `${role} has no rights beyond its database`);
  const detail = `${role} has rights that the service does not need (${tooMany.join(", ")}): who takes over the service has the whole server`;
  if (is_first) {
    const fix =
      "The first role of a server stays a superuser: make one for the service (docs/configuration.md, Your own PostgreSQL), move " +
      "the data with `pg_dump --no-owner`, restored by that role, and name it in DATABASE_URL.";
    return warning(check, detail, fix);
  }
  return warning(
    check,
    detail,
    `As another superuser: alter role ${role} ${tooMany.map((right) => `no${right}`).join(" ")}`,
  );
}

/** Warns of a large index that nothing has read for a week. */
export function judgeUnusedIndex({ index, bytes }: { readonly index: string; readonly bytes: number }): CheckResult {
  return warning(
    "unused indexes",
    `${index} (${Math.round(bytes / 1024 ** 2)} MiB) was not used for a week`,
    `Leave it if a migration of the service made it, or a replica uses it. One that you made: drop index concurrently ${index}`,
  );
}

/**
 * Maximum interval at which Citus finishes transactions that a crash left prepared. Too high: acknowledged changes stay
 * invisible, and their locks block other transactions.
 */
const MAX_RECOVERY_INTERVAL_MS = 10_000;

/** Judges a database that Citus distributes. Each problem has the command that fixes it. */
export function judgeDistribution(state: DistributionState): CheckResult[] {
  return [judgeTables(state), judgeMachines(state), judgeSessions(state), judgeCommits(state), judgeMoves(state)];
}

function judgeTables({ undistributed, sharing }: DistributionState): CheckResult {
  if (undistributed.length > 0) {
    return failure(
      "citus tables",
      `only the coordinator has ${undistributed.join(", ")}: statements that join them with others fail`,
      "Stop the service, and run `bikeshare distribute`.",
    );
  }
  if (sharing.length === 0) return ok("citus tables", "all are distributed, and each system has shards of its own");
  return warning(
    "citus tables",
    `${sharing.join(", ")} ${sharing.length === 1 ? "lies" : "lie"} in shards with others, and cannot be moved alone`,
    "Stop the service, and run `bikeshare distribute`.",
  );
}

function judgeMachines({ nodes }: DistributionState): CheckResult {
  const check = "citus machines";
  const inactive = nodes.filter((node) => !node.is_active);
  if (inactive.length > 0) {
    const commands = inactive.map(({ host, port }) => `select citus_activate_node('${host}', ${port})`);
    return failure(check, `${named(inactive)} inactive`, commands.join("; "));
  }
  const silent = nodes.filter(({ settings }) => settings === null);
  if (silent.length > 0) {
    return failure(
      check,
      `${named(silent)} not answering: its systems are away, and no reference table can be written to`,
      "Start PostgreSQL there, or its standby, and look at its log and at pg_hba.conf.",
    );
  }
  const incomplete = nodes.filter(({ missing_copies: missing }) => missing > 0);
  if (incomplete.length > 0)
    return failure(check, `${named(incomplete)} without reference tables`, "select replicate_reference_tables()");
  const connections = nodes.find((node) => node.is_coordinator)?.settings?.max_connections ?? 0;
  // Every node has settings here, because the silent ones were reported above.
  const narrow = nodes.filter(({ settings }) => settings !== null && settings.max_connections < connections);
  if (narrow.length > 0) {
    return warning(
      check,
      `${named(narrow)} with fewer connections than the coordinator, each of which may need one there`,
      `There: alter system set max_connections = ${connections}, and restart PostgreSQL.`,
    );
  }
  return ok(check, `${nodes.length}, all active and answering`);
}

/**
 * The settings of the database that `distribute` makes on every node, where Citus runs our statements in sessions of its
 * own. `timezone` makes them count days in UTC; `propagate_set_commands` passes on what a transaction of ours sets, such as
 * how long it waits for a lock.
 */
const SESSION_DEFAULTS = ["timezone=utc", "citus.propagate_set_commands=local"];

function judgeSessions({ nodes }: DistributionState): CheckResult {
  const lacking = nodes.filter(({ settings }) => {
    const present = settings?.session_defaults.map((text) => text.toLowerCase());
    return present !== undefined && SESSION_DEFAULTS.some((text) => !present.includes(text));
  });
  if (lacking.length === 0) return ok("citus sessions", "they read dates and give up locks as ours do");
  return failure(
    "citus sessions",
    `${named(lacking)} without settings of the database that \`distribute\` makes: days are counted wrong there, and locks waited for`,
    "Run `bikeshare distribute`, and start the service anew.",
  );
}

/**
 * Each transaction that Citus commits in two phases needs one of `max_prepared_transactions` on every node that it writes
 * to.
 */
function judgeCommits({ nodes }: DistributionState): CheckResult {
  const check = "citus commits";
  const few = nodes.filter(
    ({ settings }) => settings !== null && settings.max_prepared_transactions < settings.max_connections,
  );
  if (few.length > 0) {
    const isNone = few.some(({ settings }) => settings?.max_prepared_transactions === 0);
    return (isNone ? failure : warning)(
      check,
      `${named(few)} with fewer prepared transactions than connections: ${isNone ? "every" : "some"} write fails`,
      `There: alter system set max_prepared_transactions = ${few[0]?.settings?.max_connections}, and restart PostgreSQL.`,
    );
  }
  const slow = nodes.filter(
    ({ settings }) =>
      settings !== null && (settings.recovery_interval < 0 || settings.recovery_interval > MAX_RECOVERY_INTERVAL_MS),
  );
  if (slow.length === 0) return ok(check, "what a crash leaves prepared is finished within seconds");
  return warning(
    check,
    `${named(slow)} finishing late what a crash leaves prepared: until then acknowledged changes are not seen`,
    "There: alter system set citus.recover_2pc_interval = '2s'; select pg_reload_conf()",
  );
}

function judgeMoves({ nodes }: DistributionState): CheckResult {
  const withSystems = nodes.filter((node) => node.has_systems);
  const unable = withSystems.filter(({ settings }) => settings !== null && settings.wal_level !== "logical");
  if (withSystems.length < 2 || unable.length === 0)
    return ok("citus moves", "systems can be moved while they are used");
  return warning(
    "citus moves",
    `${named(unable)} not able to move a system while it is used`,
    "There: alter system set wal_level = 'logical', and restart PostgreSQL.",
  );
}

/** Returns the beginning of a sentence about nodes: `a:5432, b:5432 are`. */
function named(nodes: readonly DatabaseNode[]): string {
  const names = nodes.map(({ host, port }) => `${host}:${port}`).join(", ");
  return `${names} ${nodes.length === 1 ? "is" : "are"}`;
}
