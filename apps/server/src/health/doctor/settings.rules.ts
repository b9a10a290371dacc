import { type CheckResult, failure, ok, warning } from "../checks/check.ts";
import { MAX_DIFFERENCE_MS } from "../conditions/service-clock.ts";
import type { RoleRights, ServerSettings } from "./queries.ts";

/** The oldest PostgreSQL that is supported, as PostgreSQL counts. */
const MIN_VERSION = 150_000;
/** The most that one process that does everything opens, on 20 processors: docs/configuration.md has the sum. */
const CONNECTIONS_OF_A_PROCESS = 30;

/** What PostgreSQL's settings and its clock say. */
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
          `alter system set max_connections = ${connections - free + 100}, and restart PostgreSQL.`,
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

/** Whoever takes over the service, or its password, has what its role may do. */
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

/** A large index that nothing has read for a week. */
export function judgeUnusedIndex({ index, bytes }: { readonly index: string; readonly bytes: number }): CheckResult {
  return warning(
    "unused indexes",
    `${index} (${Math.round(bytes / 1024 ** 2)} MiB) was not used for a week`,
    `Leave it if it is ours, or a replica uses it. One that you made: drop index concurrently ${index}`,
  );
}
