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
import type { CliContext } from "./context.ts";
import { readDuration, readFutureInstant, readInteger, readScopes, systemOption } from "./options.ts";
import { table } from "./table.ts";
import { UsageError } from "./usage-error.ts";

interface IssueOptions {
  readonly partner?: string;
  readonly operator?: boolean;
  readonly scopes?: string;
  readonly name?: string;
  readonly expiresAt?: string;
  readonly rateLimit?: string;
}

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
    .option("--scopes <a,b>", "what it may do, e.g. stations:read,rides:read")
    .option("--name <name>", "what it is for")
    .option("--expires-at <instant>", "RFC 3339; never, when not given")
    .option("--rate-limit <n>", "requests in any 60 s; the deployment's default, when not given")
    .action((options: IssueOptions, command: Command) => issue(context(), options, command));
  keys
    .command("list")
    .description("list the keys, with what is kept of them: never the keys themselves")
    .option("--partner <id>", "of this partner alone")
    .action((options: { partner?: string }, command: Command) => list(context(), options, command));
  keys
    .command("revoke")
    .description("end a key, on every process within a second")
    .argument("<key id>")
    .action((id: string, _options: unknown, command: Command) => revoke(context(), id, command));
  keys
    .command("rotate")
    .description("make a key that takes another's place; both work for a while")
    .argument("<key id>")
    .option("--overlap <duration>", "how long both work: 0h to 30d", "24h")
    .action((id: string, options: { overlap: string }, command: Command) => rotate(context(), id, options, command));
}

async function issue(cli: CliContext, options: IssueOptions, command: Command): Promise<void> {
  const { actor, clock, config, ids } = cli;
  if (options.partner === undefined && options.operator !== true)
    throw new UsageError("Say whose key: --partner <id>, or --operator.");
  if (options.operator === true && options.scopes !== undefined)
    throw new UsageError("An operator key takes no --scopes: it reaches all of /operator and nothing else.");
  if (options.operator !== true && options.scopes === undefined)
    throw new UsageError("Say what the key may do: --scopes stations:read,rides:read.");
  const scopes = options.scopes === undefined ? [] : readScopes(options.scopes);
  const expiresAt =
    options.expiresAt === undefined ? null : readFutureInstant("--expires-at", options.expiresAt, clock());
  const rateLimit =
    options.rateLimit === undefined ? null : readInteger("--rate-limit", options.rateLimit, 1, 1_000_000);
  const kind: KeyKind = options.operator === true ? "operator" : config.mode;
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const partnerId = options.partner ?? null;
    if (partnerId !== null && (await partnerWithId({ db }, systemId, partnerId)) === undefined) {
      throw commandError("not_found", "partner", { id: partnerId });
    }
    const issued = await issueKey(
      { db, clock, ids, actor },
      { systemId, kind, partnerId, scopes, name: options.name ?? null, expiresAt, rateLimit },
    );
    show(cli, issued, {}, []);
  });
}

async function list(cli: CliContext, options: { partner?: string }, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const rows = await keysOf({ db }, await cli.resolveSystem(db, systemOption(command)), options.partner);
    const now = cli.clock();
    cli.output.result(
      {
        keys: rows.map(({ partner_name: _name, system_id: _system, ...row }) => ({
          ...row,
          effective_rate_limit: effectiveRateLimit(row, cli.config.rateLimit),
          status: keyStatus(row, now),
        })),
      },
      table(
        ["id", "partner", "name", "key", "scopes", "rate", "status", "expires", "last used"],
        rows.map((row) => [
          row.id,
          row.partner_name ?? "(operator)",
          row.name ?? "",
          `…${row.last4}`,
          row.scopes.join(","),
          String(effectiveRateLimit(row, cli.config.rateLimit)),
          statusWord(row, now),
          row.expires_at?.toISOString() ?? "never",
          lastUse(row),
        ]),
      ),
    );
  });
}

async function revoke(cli: CliContext, id: string, command: Command): Promise<void> {
  const { actor, clock, ids } = cli;
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const key = await revokeKey({ db, clock, ids, actor }, systemId, id);
    cli.output.result({ id: key.id, revoked_at: key.revoked_at }, `Revoked key ${key.id} (…${key.last4}).`);
  });
}

async function rotate(cli: CliContext, id: string, options: { overlap: string }, command: Command): Promise<void> {
  const { actor, clock, config, ids } = cli;
  const overlap = readDuration("--overlap", options.overlap, "0h", `${MAX_OVERLAP_DAYS}d`);
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    const rotated = await rotateKey({ db, clock, ids, actor }, systemId, id, config.mode, overlap);
    const { replaces, replaced_key_ends_at: endsAt } = rotated;
    show(cli, rotated, { replaces, replaced_key_ends_at: endsAt }, [
      `It takes the place of ${replaces}, which works until ${endsAt.toISOString()}.`,
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
    `It is shown this once: we keep only its hash.${expires_at === null ? "" : ` It expires at ${expires_at.toISOString()}.`}`,
  ];
  cli.output.result({ id, key, scopes, expires_at, rate_limit, ...more }, text.join("\n"));
}

/** When, for what and from where a key was last used. */
function lastUse({ last_used_at: at, last_used_path: path, last_used_address: address }: KeyRow): string {
  return at === null ? "never" : `${at.toISOString()} ${path ?? ""} from ${address ?? "?"}`;
}

function statusWord(key: KeyRow, now: number): string {
  const compromised = key.compromised_at === null ? "" : ", compromised";
  const status = keyStatus(key, now);
  const isEnding = status === "active" && key.revoked_at !== null;
  return `${isEnding ? `ends ${key.revoked_at.toISOString()}` : status}${compromised}`;
}
