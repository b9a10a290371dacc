import { RATE_WINDOW_SECONDS, type Scope } from "@bikeshare/contract";
import { type KeyKind, keyStatus } from "@bikeshare/rules";
import { type Command, Option } from "commander";
import { commandError } from "../errors/command-errors.ts";
import { effectiveRateLimit } from "../keys/key.rules.ts";
import {
  type IssuedKey,
  issueKey,
  type KeyRow,
  keysOf,
  MAX_OVERLAP_DAYS,
  revokeKey,
  rotateKey,
} from "../keys/service.ts";
import { partnerWithId } from "../partners/service.ts";
import { integer } from "../startup/values.ts";
import { type CliContext, withSystem } from "./context.ts";
import { futureInstant, option, overlapOption, readValue, scopeList, UsageError } from "./options.ts";
import { table } from "./output.ts";

interface IssueOptions {
  readonly partner?: string;
  readonly operator?: boolean;
  readonly scopes?: readonly Scope[];
  readonly name?: string;
  readonly expiresAt?: string;
  readonly rateLimit?: number;
}

/** More than any caller needs: a mistyped number is noticed. */
const MAX_RATE_LIMIT = 1_000_000;

/** `keys issue`, `list`, `revoke` and `rotate`. */
export function registerKeys(program: Command, context: () => CliContext): void {
  const keys = program
    .command("keys")
    .description("API keys: what partners and your own backend identify themselves with");
  keys
    .command("issue")
    .description("make a key; it is shown once")
    .addOption(new Option("--partner <id>", "whose key").conflicts("operator"))
    .option("--operator", "a key for your own backend, for /operator alone")
    .addOption(option("--scopes <a,b>", "what it may do, e.g. stations:read,rides:read", scopeList))
    .option("--name <name>", "what it is for")
    .option("--expires-at <instant>", "RFC 3339; never, when not given")
    .addOption(
      option(
        "--rate-limit <n>",
        `requests in any ${RATE_WINDOW_SECONDS} s; the deployment's default, when not given`,
        integer(1, MAX_RATE_LIMIT),
      ),
    )
    .action((options: IssueOptions) => issue(context(), options));
  keys
    .command("list")
    .description("list the keys, with what is kept of them: never the keys themselves")
    .option("--partner <id>", "of this partner alone")
    .action(({ partner }: { partner?: string }) => list(context(), partner));
  keys
    .command("revoke")
    .description("end a key, on every process within a second")
    .argument("<key id>")
    .action((id: string) => revoke(context(), id));
  keys
    .command("rotate")
    .description("make a key that replaces another; both work for a while")
    .argument("<key id>")
    .addOption(overlapOption("how long both work", MAX_OVERLAP_DAYS))
    .action((id: string, { overlap }: { overlap: number }) => rotate(context(), id, overlap));
}

async function issue(cli: CliContext, options: IssueOptions): Promise<void> {
  const { partner: partnerId = null, operator: isOperator = false, scopes } = options;
  if (partnerId === null && !isOperator) throw new UsageError("Say whose key: --partner <id>, or --operator.");
  if (isOperator && scopes !== undefined)
    throw new UsageError("An operator key takes no --scopes: it reaches all of /operator and nothing else.");
  if (!isOperator && scopes === undefined)
    throw new UsageError("Say what the key may do: --scopes stations:read,rides:read.");
  const expiresAt =
    options.expiresAt === undefined ? null : readValue("--expires-at", options.expiresAt, futureInstant(cli.clock()));
  const kind: KeyKind = isOperator ? "operator" : cli.config.mode;
  await withSystem(cli, async (context, systemId) => {
    if (partnerId !== null && (await partnerWithId(context, systemId, partnerId)) === undefined) {
      throw commandError("not_found", "partner", { id: partnerId });
    }
    const { name = null, rateLimit = null } = options;
    const input = { systemId, kind, partnerId, scopes: scopes ?? [], name, expiresAt, rateLimit };
    show(cli, await issueKey(context, input), {}, []);
  });
}

async function list(cli: CliContext, partnerId: string | undefined): Promise<void> {
  const now = cli.clock();
  const rateLimitOf = (row: KeyRow) => effectiveRateLimit(row, cli.config.rateLimit);
  await withSystem(cli, async (context, systemId) => {
    const rows = await keysOf(context, systemId, partnerId);
    const keys = rows.map(({ partner_name: _name, system_id: _system, ...row }) => ({
      ...row,
      effective_rate_limit: effectiveRateLimit(row, cli.config.rateLimit),
      status: keyStatus(row, now),
    }));
    const shown = table(rows, {
      id: ({ id }) => id,
      partner: ({ partner_name }) => partner_name ?? "(operator)",
      name: ({ name }) => name,
      key: ({ last4 }) => `…${last4}`,
      scopes: ({ scopes }) => scopes.join(","),
      rate: rateLimitOf,
      status: (row) => statusText(row, now),
      expires: ({ expires_at }) => expires_at ?? "never",
      "last used": lastUse,
    });
    cli.output.result({ keys }, shown);
  });
}

async function revoke(cli: CliContext, id: string): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const key = await revokeKey(context, systemId, id);
    cli.output.result({ id: key.id, revoked_at: key.revoked_at }, `Revoked key ${key.id} (…${key.last4}).`);
  });
}

async function rotate(cli: CliContext, id: string, overlapMs: number): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const rotated = await rotateKey(context, systemId, id, cli.config.mode, overlapMs);
    const { replaces, replaced_key_ends_at: endsAt } = rotated;
    show(cli, rotated, { replaces, replaced_key_ends_at: endsAt }, [
      `It replaces ${replaces}, which works until ${endsAt.toISOString()}.`,
    ]);
  });
}

function show(cli: CliContext, issued: IssuedKey, more: Record<string, unknown>, remarks: readonly string[]): void {
  const { id, key, scopes, expires_at, rate_limit } = issued;
  const text = [
    `Key ${id}:`,
    ``,
    `  ${key}`,
    ``,
    ...remarks,
    `It is shown only now: the service keeps its hash alone.${expires_at === null ? "" : ` It expires at ${expires_at.toISOString()}.`}`,
  ];
  cli.output.result({ id, key, scopes, expires_at, rate_limit, ...more }, text.join("\n"));
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
