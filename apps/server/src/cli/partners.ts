import { DEFAULT_MAX_RESERVATIONS } from "@bikeshare/contract";
import type { Command } from "commander";
import type { ActorContext } from "../command-context.ts";
import { commandError } from "../errors/command-errors.ts";
import { partnerStatus } from "../partners/partner.rules.ts";
import { removePartner } from "../partners/removal.ts";
import { createPartner, type PartnerRow, partnersOf, partnerWithId, setPartner } from "../partners/service.ts";
import { resumePartner, suspendPartner } from "../partners/suspension.ts";
import type { CliContext } from "./context.ts";
import { readInteger, systemOption } from "./options.ts";
import { table } from "./table.ts";
import { UsageError } from "./usage-error.ts";
import { describeReplayNeed } from "./webhooks-text.ts";

interface SetOptions {
  readonly name?: string;
  readonly maxReservations?: string;
}

const MAX_RESERVATIONS = "active reservations that it may have at once";

/** `partners` with everything on the companies that read our data. */
export function registerPartners(program: Command, context: () => CliContext): void {
  const partners = program.command("partners").description("the companies that read our data");
  partners
    .command("create")
    .description("add a partner")
    .argument("<name>", "the company's name; no other partner's")
    .option("--max-reservations <n>", `${MAX_RESERVATIONS}; ${DEFAULT_MAX_RESERVATIONS}, when not given`)
    .action((name: string, options: SetOptions, command: Command) => create(context(), name, options, command));
  partners
    .command("set")
    .description("change a partner; what is left out stays")
    .argument("<id>", "the partner")
    .option("--name <name>", "the company's name; no other partner's")
    .option("--max-reservations <n>", `${MAX_RESERVATIONS}; \`default\`: ${DEFAULT_MAX_RESERVATIONS}`)
    .action((id: string, options: SetOptions, command: Command) => set(context(), id, options, command));
  partners
    .command("suspend")
    .description("refuse a partner's keys and hold its deliveries, until it is resumed")
    .argument("<id>", "the partner")
    .action((id: string, _options: unknown, command: Command) => suspend(context(), id, command));
  partners
    .command("resume")
    .description("take a suspended partner's keys again, and send to its endpoint, beginning with one probe")
    .argument("<id>", "the partner")
    .action((id: string, _options: unknown, command: Command) => resume(context(), id, command));
  partners
    .command("remove")
    .description("end a partner for good: its keys, its endpoint and its reservations; the logs stay")
    .argument("<id>", "the partner")
    .option("--yes", "do it: it cannot be undone")
    .action((id: string, options: { yes?: boolean }, command: Command) => remove(context(), id, options, command));
  partners
    .command("list")
    .description("list the partners")
    .option("--all", "removed ones too")
    .action((options: { all?: boolean }, command: Command) => list(context(), options, command));
}

/** Runs `work` on the command's system. */
async function withPartners(
  { actor, clock, ids, withDatabase, resolveSystem }: CliContext,
  command: Command,
  work: (partners: ActorContext, systemId: string) => Promise<void>,
): Promise<void> {
  await withDatabase(async (db) => {
    await work({ db, clock, ids, actor }, await resolveSystem(db, systemOption(command)));
  });
}

async function create(cli: CliContext, name: string, options: SetOptions, command: Command): Promise<void> {
  const maxReservations =
    options.maxReservations === undefined ? undefined : readMaxReservations(options.maxReservations);
  const given = readName(name);
  await withPartners(cli, command, async (partners, systemId) => {
    const partner = await createPartner(partners, systemId, given, { maxReservations });
    cli.output.result(
      { id: partner.id, name: partner.name, max_reservations: limitOf(partner) },
      `Made partner ${partner.id} (${partner.name}).`,
    );
  });
}

async function set(cli: CliContext, id: string, options: SetOptions, command: Command): Promise<void> {
  if (options.name === undefined && options.maxReservations === undefined) {
    throw new UsageError("Say what to set: --name or --max-reservations.");
  }
  const name = options.name === undefined ? undefined : readName(options.name);
  const change = { name, maxReservations: readLimit(options.maxReservations) };
  await withPartners(cli, command, async (partners, systemId) => {
    const { partner, changed } = await setPartner(partners, systemId, id, change);
    cli.output.result(
      { id, name: partner.name, max_reservations: limitOf(partner), changed },
      `${changed ? "Changed" : "Nothing to change at"} partner ${id} (${partner.name}): ${limitOf(partner)} reservations at once.`,
    );
  });
}

async function suspend(cli: CliContext, id: string, command: Command): Promise<void> {
  await withPartners(cli, command, async (partners, systemId) => {
    const { partner, changed } = await suspendPartner(partners, systemId, id);
    const since = partner.suspended_at?.toISOString() ?? "";
    const done = [
      `Suspended ${id} (${partner.name}): its keys are refused, and its deliveries are held for up to 30 days.`,
      `Reservations that it has run out by themselves. \`partners resume ${id}\` ends the suspension.`,
    ];
    cli.output.result(
      { id, status: partnerStatus(partner), suspended_at: partner.suspended_at, changed },
      changed ? done.join("\n") : `${id} is suspended already, since ${since}.`,
    );
  });
}

async function resume(cli: CliContext, id: string, command: Command): Promise<void> {
  await withPartners(cli, command, async (partners, systemId) => {
    const { partner, changed, endpoint } = await resumePartner(partners, systemId, id);
    const probe = endpoint?.probe ?? null;
    const lines = changed
      ? [`Resumed ${id} (${partner.name}): its keys are taken again.`]
      : [`${id} is not suspended.`];
    if (endpoint !== null) {
      const first = probe === null ? "the next event" : probe;
      lines.push(`Its endpoint goes on: ${first} is sent as a probe.`);
      lines.push(...describeReplayNeed(id, endpoint.held, endpoint.held_since));
    }
    cli.output.result(
      {
        id,
        status: partnerStatus(partner),
        changed,
        probe,
        held: endpoint?.held ?? 0,
        held_since: endpoint?.held_since ?? null,
      },
      lines.join("\n"),
    );
  });
}

async function remove(cli: CliContext, id: string, { yes }: { yes?: boolean }, command: Command): Promise<void> {
  await withPartners(cli, command, async (partners, systemId) => {
    if (yes !== true) throw new UsageError(await describeRemoval(partners, systemId, id));
    const { partner, ...ended } = await removePartner(partners, systemId, id);
    const unsent = ended.unsent_deliveries === 0 ? "" : `; ${ended.unsent_deliveries} deliveries were not sent`;
    const lines = [
      `Removed ${id} (${partner.name}).`,
      `Keys revoked: ${ended.revoked_keys}. Reservations cancelled: ${ended.cancelled_reservations}.`,
      ended.endpoint_removed ? `Its endpoint and the secrets are gone${unsent}.` : "It had no endpoint.",
      "The log of its deliveries stays, each for its 30 days. Its past reservations and the audit log stay.",
    ];
    cli.output.result(
      { id, status: partnerStatus(partner), removed_at: partner.removed_at, ...ended },
      lines.join("\n"),
    );
  });
}

async function describeRemoval(partners: ActorContext, systemId: string, id: string): Promise<string> {
  const partner = await partnerWithId(partners, systemId, id);
  if (partner === undefined) return commandError("not_found", "partner", { id }).message;
  return [
    `This ends ${id} (${partner.name}) for good: every key is revoked, its endpoint and the secrets are removed, its active`,
    "reservations are cancelled. Nothing was done. Say --yes to do it; `partners suspend` can be undone.",
  ].join("\n");
}

async function list(cli: CliContext, { all }: { all?: boolean }, command: Command): Promise<void> {
  await withPartners(cli, command, async (partners, systemId) => {
    const rows = (await partnersOf(partners, systemId)).filter((row) => all === true || row.removed_at === null);
    cli.output.result(
      { partners: rows.map((row) => ({ ...row, status: partnerStatus(row), max_reservations: limitOf(row) })) },
      table(
        ["id", "name", "status", "created", "reservations at once"],
        rows.map((row) => [row.id, row.name, statusText(row), row.created_at.toISOString(), String(limitOf(row))]),
      ),
    );
  });
}

function statusText(partner: PartnerRow): string {
  const since = partner.removed_at ?? partner.suspended_at;
  return since === null ? "active" : `${partnerStatus(partner)} ${since.toISOString()}`;
}

function readName(text: string): string {
  const name = text.trim();
  if (name === "") throw new UsageError("The name must not be empty.");
  return name;
}

/** More than any city has bikes: a mistyped number is noticed. */
const MOST_RESERVATIONS = 1_000_000;

function readMaxReservations(text: string): number {
  return readInteger("--max-reservations", text, 1, MOST_RESERVATIONS);
}

/** Null: the default; undefined: as it is. */
function readLimit(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  return text === "default" ? null : readMaxReservations(text);
}

function limitOf({ max_reservations }: PartnerRow): number {
  return max_reservations ?? DEFAULT_MAX_RESERVATIONS;
}
