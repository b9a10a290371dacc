import { RATE_WINDOW_SECONDS, type Scope } from "@bikeshare/contract";
import { MAX_RATE_LIMIT } from "@bikeshare/contract/console";
import { type KeyKind, keyStatus } from "@bikeshare/rules";
import { Option } from "@commander-js/extra-typings";
import { commandError } from "../command-errors.ts";
import { exceedingKeys } from "../partners/keys/allowance.rules.ts";
import { effectiveRateLimit } from "../partners/keys/key.rules.ts";
import {
  type IssuedKey,
  issueKey,
  type KeyRow,
  keysOf,
  MAX_OVERLAP_DAYS,
  revokeKey,
  rotateKey,
} from "../partners/keys/service.ts";
import { partnersOf, partnerWithId } from "../partners/service.ts";
import { integer } from "../runtime/startup/values.ts";
import { type OpenCli, type ParentCommand, type SystemContext, withSystem } from "./context.ts";
import { futureInstant, option, overlapOption, readValue, scopeList, UsageError } from "./options.ts";
import { type Output, table } from "./output.ts";

/** `keys issue`, `list`, `revoke` and `rotate`. */
export function registerKeys(program: ParentCommand, cli: OpenCli): void {
  const keys = program
    .command("keys")
    .description("API keys: what partners and your own backend identify themselves with");
  registerIssue(keys, cli);
  keys
    .command("list")
    .description("list the keys, with what is kept of them: never the keys themselves")
    .option("--partner <id>", "of this partner alone")
    .action(({ partner }) => withSystem(cli(), (context, systemId) => list(context, systemId, partner)));
  keys
    .command("revoke")
    .description("end a key, on every process within a second")
    .argument("<key id>")
    .action((id) =>
      withSystem(cli(), async (context, systemId) => {
        const { revoked_at, last4 } = await revokeKey(context, systemId, id);
        context.output.result({ id, revoked_at }, `Revoked key ${id} (…${last4}).`);
      }),
    );
  keys
    .command("rotate")
    .description("make a key that replaces another; both work for a while")
    .argument("<key id>")
    .addOption(overlapOption("how long both work", MAX_OVERLAP_DAYS))
    .action((id, { overlap }) =>
      withSystem(cli(), async (context, systemId) => {
        const { replaces, replaced_key_ends_at, ...issued } = await rotateKey(
          context,
          systemId,
          id,
          context.config.mode,
          overlap,
        );
        show(context.output, issued, { replaces, replaced_key_ends_at }, [
          `It replaces ${replaces}, which works until ${replaced_key_ends_at.toISOString()}.`,
        ]);
      }),
    );
}

function registerIssue(keys: ParentCommand, cli: OpenCli): void {
  const rateLimits = `requests in any ${RATE_WINDOW_SECONDS} s; the deployment's default, when not given`;
  keys
    .command("issue")
    .description("make a key; it is shown once")
    .addOption(new Option("--partner <id>", "whose key").conflicts("operator"))
    .option("--operator", "a key for your own backend, for /operator alone")
    .addOption(option("--scopes <a,b>", "what it may do, e.g. stations:read,rides:read", scopeList))
    .option("--name <name>", "what it is for")
    .option("--expires-at <instant>", "RFC 3339; never, when not given")
    .addOption(option("--rate-limit <n>", rateLimits, integer(1, MAX_RATE_LIMIT)))
    .action(({ partner: partnerId = null, operator, scopes, name = null, expiresAt: expiry, rateLimit = null }) => {
      requireOwner(partnerId, operator === true, scopes);
      const context = cli();
      const expiresAt = expiry === undefined ? null : readValue("--expires-at", expiry, futureInstant(context.clock()));
      const kind: KeyKind = operator === true ? "operator" : context.config.mode;
      return withSystem(context, async (inSystem, systemId) => {
        if (partnerId !== null && (await partnerWithId(inSystem, systemId, partnerId)) === undefined) {
          throw commandError("not_found", "partner", { id: partnerId });
        }
        const input = { systemId, kind, partnerId, scopes: scopes ?? [], name, expiresAt, rateLimit };
        show(inSystem.output, await issueKey(inSystem, input), {}, []);
      });
    });
}

function requireOwner(partnerId: string | null, isOperator: boolean, scopes: readonly Scope[] | undefined): void {
  if (partnerId === null && !isOperator) throw new UsageError("Say whose key: --partner <id>, or --operator.");
  if (isOperator && scopes !== undefined)
    throw new UsageError("An operator key takes no --scopes: it reaches all of /operator and nothing else.");
  if (!isOperator && scopes === undefined)
    throw new UsageError("Say what the key may do: --scopes stations:read,rides:read.");
}

async function list(context: SystemContext, systemId: string, partnerId: string | undefined): Promise<void> {
  const { clock, config, output } = context;
  const now = clock();
  const rate = (row: KeyRow) => effectiveRateLimit(row, config.rateLimit);
  const rows = await keysOf(context, systemId, partnerId);
  const exceeding = exceedingKeys(await partnersOf(context, systemId), rows, now);
  const keys = rows.map(({ partner_name: _name, system_id: _system, ...row }) => ({
    ...row,
    effective_rate_limit: effectiveRateLimit(row, config.rateLimit),
    status: keyStatus(row, now),
    exceeds_allowance: exceeding.has(row.id),
  }));
  const shown = table(rows, {
    id: "id",
    partner: ({ partner_name }) => partner_name ?? "(operator)",
    name: "name",
    key: ({ last4 }) => `…${last4}`,
    scopes: ({ scopes }) => scopes.join(","),
    rate,
    "made by": ({ made_by_partner }) => (made_by_partner ? "partner" : "operator"),
    status: (row) => `${statusText(row, now)}${exceeding.has(row.id) ? ", exceeds the allowance" : ""}`,
    expires: ({ expires_at }) => expires_at ?? "never",
    "last used": lastUse,
  });
  output.result({ keys }, shown);
}

function show(output: Output, issued: IssuedKey, more: Record<string, unknown>, remarks: readonly string[]): void {
  const { id, key, expires_at: expiresAt } = issued;
  const text = [
    `Key ${id}:`,
    ``,
    `  ${key}`,
    ``,
    ...remarks,
    `It is shown only now: the service keeps its hash alone.${expiresAt === null ? "" : ` It expires at ${expiresAt.toISOString()}.`}`,
  ];
  output.result({ ...issued, ...more }, text.join("\n"));
}

/** When, for what and from where a key was last used. */
function lastUse({ last_used_at: at, last_used_path: path, last_used_address: address }: KeyRow): string {
  return at === null ? "never" : `${at.toISOString()} ${path ?? ""} from ${address ?? "?"}`;
}

function statusText(key: KeyRow, now: number): string {
  const compromised = key.compromised_at === null ? "" : ", compromised";
  const status = keyStatus(key, now);
  const isRotated = status === "active" && key.revoked_at !== null;
  return `${isRotated ? `ends ${key.revoked_at.toISOString()}` : status}${compromised}`;
}
