import type { DatabaseNode, DistributionState } from "../../storage/distribution/examine.ts";
import { type CheckResult, failure, ok, warning } from "../checks/check.ts";

/**
 * Within it, what a machine's crash has left prepared is finished once the machine is back. Longer, and what was acknowledged
 * is not seen, and what it has locked waits.
 */
const MAX_RECOVERY_INTERVAL_MS = 10_000;

/** What is wrong with a database that Citus distributes, each with the command that mends it. */
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
  const narrow = nodes.filter(({ settings }) => (settings?.max_connections ?? connections) < connections);
  if (narrow.length > 0) {
    return warning(
      check,
      `${named(narrow)} with fewer connections than the coordinator, each of which may need one there`,
      `There: alter system set max_connections = ${connections}, and restart PostgreSQL.`,
    );
  }
  return ok(check, `${nodes.length}, all active and answering`);
}

/** What `distribute` sets, for the sessions that machines open for our statements: dates are in UTC, and locks given up in time. */
const SESSION_DEFAULTS = ["timezone=utc", "citus.propagate_set_commands=local"];

function judgeSessions({ nodes }: DistributionState): CheckResult {
  const lacking = nodes.filter(({ settings }) => {
    const present = settings?.session_defaults.map((text) => text.toLowerCase());
    return present !== undefined && !SESSION_DEFAULTS.every((text) => present.includes(text));
  });
  if (lacking.length === 0) return ok("citus sessions", "they read dates and give up locks as ours do");
  return failure(
    "citus sessions",
    `${named(lacking)} without settings of the database that \`distribute\` makes: days are counted wrong there, and locks waited for`,
    "Run `bikeshare distribute`, and start the service anew.",
  );
}

/** What writes on several machines, and some of what does not, is prepared before it is committed. */
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

/** As the beginning of a sentence. */
function named(nodes: readonly DatabaseNode[]): string {
  const names = nodes.map(({ host, port }) => `${host}:${port}`).join(", ");
  return `${names} ${nodes.length === 1 ? "is" : "are"}`;
}
