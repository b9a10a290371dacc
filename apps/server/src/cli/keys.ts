import { RATE_WINDOW_SECONDS, type Scope } from "@bikeshare/contract";
import { MAX_RATE_LIMIT } from "@bikeshare/contract/console";
import { keyStatus } from "@bikeshare/rules";
import { Option } from "@commander-js/extra-typings";
import { commandError } from "../command-errors.ts";
import { effectiveRateLimit, exceedingKeys } from "../partners/keys/key.rules.ts";
import { issueKey, type KeyRow, keysOf, MAX_OVERLAP_DAYS, revokeKey, rotateKey } from "../partners/keys/service.ts";
import { partnersOf, partnerWithId } from "../partners/service.ts";
import { integer } from "../runtime/startup/values.ts";
import { type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import { futureInstant, option, overlapOption, plainName, readValue, scopeList, UsageError } from "./options.ts";
import { type Columns, type Result, table } from "./output.ts";

// The commands `keys`.

/** Registers `keys issue`, `list`, `revoke` and `rotate`. */
export function registerKeys(program: ParentCommand, cli: OpenCli): void {
  const keys = program.command("keys").description("manage API keys of partners and of your own backend");
  registerIssue(keys, cli);
  keys
    .command("list")
    .description("list the keys and their use; the service stores only a hash of each key")
    .option("--partner <id>", "only this partner's keys")
    .action(({ partner }) => runOnSystem(cli(), (context) => list(context, partner)));
  keys
    .command("revoke")
    .description("revoke a key, on every process within a second")
    .argument("<key id>")
    .action((id) =>
      runOnSystem(cli(), async (context) => {
        const { revoked_at, last4 } = await revokeKey(context, context.systemId, id);
        return { object: { id, revoked_at }, facts: { id, key: `…${last4}`, revoked_at } };
      }),
    );
  keys
    .command("rotate")
    .description("issue a key that replaces another; both are valid during the overlap")
    .argument("<key id>")
    .addOption(overlapOption("how long both keys are valid", MAX_OVERLAP_DAYS))
    .action((id, { overlap }) =>
      runOnSystem(cli(), async (context) => {
        const issued = await rotateKey(context, context.systemId, id, overlap);
        const { replaces, replaced_key_ends_at, ...key } = issued;
        return { object: { ...key, replaces, replaced_key_ends_at }, notes: [SHOWN_ONCE] };
      }),
    );
}

const SHOWN_ONCE = "Copy the key now: the service stores only its hash and cannot show it again.";

function registerIssue(keys: ParentCommand, cli: OpenCli): void {
  const rateLimits = `requests in any ${RATE_WINDOW_SECONDS} s (default: RATE_LIMIT_PER_MINUTE)`;
  keys
    .command("issue")
    .description("issue a key; it is shown once")
    .addOption(new Option("--partner <id>", "the partner that gets the key").conflicts("operator"))
    .option("--operator", "a key for your own backend, valid for /operator alone")
    .addOption(option("--scopes <a,b>", "the key's scopes, such as stations:read,rides:read", scopeList))
    .addOption(option("--name <name>", "a label, such as the program that uses the key", plainName))
    .option("--expires-at <instant>", "RFC 3339 (default: never)")
    .addOption(option("--rate-limit <n>", rateLimits, integer(1, MAX_RATE_LIMIT)))
    .action(({ partner: partnerId = null, operator, scopes, name = null, expiresAt: expiry, rateLimit = null }) => {
      requireOwnerAndScopes(partnerId, operator === true, scopes);
      return runOnSystem(cli(), async (context) => {
        const { systemId, clock } = context;
        const expiresAt = expiry === undefined ? null : readValue("--expires-at", expiry, futureInstant(clock()));
        if (partnerId !== null && (await partnerWithId(context, systemId, partnerId)) === undefined) {
          throw commandError("not_found", "partner", { id: partnerId });
        }
        const input = { systemId, partnerId, scopes: scopes ?? [], name, expiresAt, rateLimit };
        return { object: await issueKey(context, input), notes: [SHOWN_ONCE] };
      });
    });
}

function requireOwnerAndScopes(
  partnerId: string | null,
  isOperator: boolean,
  scopes: readonly Scope[] | undefined,
): void {
  if (partnerId === null && !isOperator)
    throw new UsageError("The key's owner is missing: give --partner <id> or --operator.");
  if (isOperator && scopes !== undefined)
    throw new UsageError(
      "--scopes does not go with --operator: an operator key reaches all of /operator, nothing else.",
    );
  if (!isOperator && scopes === undefined)
    throw new UsageError("The key's scopes are missing: give --scopes, such as --scopes stations:read,rides:read.");
}

async function list(context: SystemContext, partnerId: string | undefined): Promise<Result> {
  const { clock, config, systemId } = context;
  const now = clock();
  const rate = (row: KeyRow) => effectiveRateLimit(row, config.rateLimit);
  const rows = await keysOf(context, systemId, partnerId);
  const exceeding = exceedingKeys(await partnersOf(context, systemId), rows, now);
  const columns: Columns<KeyRow> = {
    id: "id",
    partner: ({ partner_name }) => partner_name ?? "(operator)",
    name: "name",
    key: ({ last4 }) => `…${last4}`,
    scopes: "scopes",
    rate,
    "issued by": ({ made_by_partner }) => (made_by_partner ? "partner" : "operator"),
    status: (row) => `${statusText(row, now)}${exceeding.has(row.id) ? ", exceeds the allowance" : ""}`,
    expires: ({ expires_at }) => expires_at ?? "never",
    "last used": lastUse,
  };
  const keys = rows.map(({ partner_name: _name, system_id: _system, ...row }) => ({
    ...row,
    effective_rate_limit: effectiveRateLimit(row, config.rateLimit),
    status: keyStatus(row, now),
    exceeds_allowance: exceeding.has(row.id),
  }));
  return { object: { keys }, table: table(rows, columns, "No keys. `keys issue` issues one.") };
}

/** Returns when, for which path and from which address a key was last used. */
function lastUse({ last_used_at: at, last_used_path: path, last_used_address: address }: KeyRow): string {
  return at === null ? "never" : `${at.toISOString()} ${path ?? ""} from ${address ?? "?"}`;
}

function statusText(key: KeyRow, now: number): string {
  const compromised = key.compromised_at === null ? "" : ", compromised";
  const status = keyStatus(key, now);
  // A rotated key is revoked in the future: at the end of the overlap with its successor.
  const isRotated = status === "active" && key.revoked_at !== null;
  return `${isRotated ? `ends ${key.revoked_at.toISOString()}` : status}${compromised}`;
}
