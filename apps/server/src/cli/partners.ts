import { DEFAULT_MAX_RESERVATIONS, EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import type { Command } from "commander";
import type { ActorContext } from "../command-context.ts";
import { commandError } from "../errors/command-errors.ts";
import {
  partnerStatus,
  createPartner,
  type PartnerRow,
  partnersOf,
  partnerWithId,
  setPartner,
} from "../partners/service.ts";
import { removePartner, resumePartner, suspendPartner } from "../partners/suspend-or-remove.ts";
import { integer } from "../startup/values.ts";
import { type CliContext, withSystem } from "./context.ts";
import { option, UsageError } from "./options.ts";
import { table } from "./output.ts";
import { describeReplayNeed } from "./webhooks-text.ts";

interface CreateOptions {
  readonly maxReservations?: number;
}

interface SetOptions {
  readonly name?: string;
  readonly maxReservations?: number | "default";
}

/** More than any city has bikes: a mistyped number is noticed. */
const MAX_RESERVATIONS = 1_000_000;
const reservationLimit = integer(1, MAX_RESERVATIONS);

/** `partners` with everything on the companies that read the data. */
export function registerPartners(program: Command, context: () => CliContext): void {
  const partners = program.command("partners").description("the companies that read the data");
  partners
    .command("create")
    .description("add a partner")
    .argument("<name>", "the company's name; no other partner's")
    .addOption(
      option(
        "--max-reservations <n>",
        `active reservations that it may have at once; ${DEFAULT_MAX_RESERVATIONS}, when not given`,
        reservationLimit,
      ),
    )
    .action((name: string, options: CreateOptions) => create(context(), name, options));
  partners
    .command("set")
    .description("change a partner; what is left out stays")
    .argument("<id>", "the partner")
    .option("--name <name>", "the company's name; no other partner's")
    .addOption(
      option(
        "--max-reservations <n>",
        `active reservations that it may have at once; \`default\`: ${DEFAULT_MAX_RESERVATIONS}`,
        (text) => (text === "default" ? text : reservationLimit(text)),
      ),
    )
    .action((id: string, options: SetOptions) => set(context(), id, options));
  partners
    .command("suspend")
    .description("reject a partner's keys and hold its deliveries, until it is resumed")
    .argument("<id>", "the partner")
    .action((id: string) => suspend(context(), id));
  partners
    .command("resume")
    .description("accept a suspended partner's keys again, and send to its endpoint, beginning with one probe")
    .argument("<id>", "the partner")
    .action((id: string) => resume(context(), id));
  partners
    .command("remove")
    .description("end a partner for good: its keys, its endpoint and its reservations; the logs stay")
    .argument("<id>", "the partner")
    .option("--yes", "do it: it cannot be undone")
    .action((id: string, { yes = false }: { yes?: boolean }) => remove(context(), id, yes));
  partners
    .command("list")
    .description("list the partners")
    .option("--all", "removed ones too")
    .action(({ all = false }: { all?: boolean }) => list(context(), all));
}

async function create(cli: CliContext, name: string, { maxReservations }: CreateOptions): Promise<void> {
  const given = readName(name);
  await withSystem(cli, async (context, systemId) => {
    const partner = await createPartner(context, systemId, given, { maxReservations });
    cli.output.result(
      { id: partner.id, name: partner.name, max_reservations: limitOf(partner) },
      `Created partner ${partner.id} (${partner.name}).`,
    );
  });
}

async function set(cli: CliContext, id: string, options: SetOptions): Promise<void> {
  if (options.name === undefined && options.maxReservations === undefined) {
    throw new UsageError("Give at least one of --name and --max-reservations.");
  }
  const name = options.name === undefined ? undefined : readName(options.name);
  const maxReservations = options.maxReservations === "default" ? null : options.maxReservations;
  const change = { name, maxReservations };
  await withSystem(cli, async (context, systemId) => {
    const { partner, changed } = await setPartner(context, systemId, id, change);
    cli.output.result(
      { id, name: partner.name, max_reservations: limitOf(partner), changed },
      `${changed ? "Changed" : "Nothing to change at"} partner ${id} (${partner.name}): ${limitOf(partner)} reservations at once.`,
    );
  });
}

async function suspend(cli: CliContext, id: string): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const { partner, changed } = await suspendPartner(context, systemId, id);
    const since = partner.suspended_at?.toISOString() ?? "";
    const done = [
      `Suspended ${id} (${partner.name}): its keys are rejected, and its deliveries are held for up to ${EVENT_RETENTION_DAYS} days.`,
      `Its reservations end at their expiry. \`partners resume ${id}\` ends the suspension.`,
    ];
    cli.output.result(
      { id, status: partnerStatus(partner), suspended_at: partner.suspended_at, changed },
      changed ? done.join("\n") : `${id} is suspended already, since ${since}.`,
    );
  });
}

async function resume(cli: CliContext, id: string): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const { partner, changed, endpoint } = await resumePartner(context, systemId, id);
    const probe = endpoint?.probe ?? null;
    const lines = changed
      ? [`Resumed ${id} (${partner.name}): its keys are accepted again.`]
      : [`${id} is not suspended.`];
    if (endpoint !== null) {
      const first = probe === null ? "the next event" : probe;
      lines.push(`Its endpoint is active again: ${first} is sent as a probe.`);
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

async function remove(cli: CliContext, id: string, isConfirmed: boolean): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    if (!isConfirmed) throw new UsageError(await describeRemoval(context, systemId, id));
    const { partner, ...ended } = await removePartner(context, systemId, id);
    const unsent = ended.unsent_deliveries === 0 ? "" : `; ${ended.unsent_deliveries} deliveries were not sent`;
    const lines = [
      `Removed ${id} (${partner.name}).`,
      `Keys revoked: ${ended.revoked_keys}. Reservations cancelled: ${ended.cancelled_reservations}.`,
      ended.endpoint_removed ? `Its endpoint and the secrets are gone${unsent}.` : "It had no endpoint.",
      `The log of its deliveries stays, each for its ${EVENT_RETENTION_DAYS} days. Its past reservations and the audit log stay.`,
    ];
    cli.output.result(
      { id, status: partnerStatus(partner), removed_at: partner.removed_at, ...ended },
      lines.join("\n"),
    );
  });
}

async function describeRemoval(context: ActorContext, systemId: string, id: string): Promise<string> {
  const partner = await partnerWithId(context, systemId, id);
  if (partner === undefined) return commandError("not_found", "partner", { id }).message;
  return [
    `This ends ${id} (${partner.name}) for good: every key is revoked, its endpoint and the secrets are removed, its active`,
    "reservations are cancelled. Nothing was changed. Add --yes to do it; `partners suspend` can be undone.",
  ].join("\n");
}

async function list(cli: CliContext, all: boolean): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const rows = (await partnersOf(context, systemId)).filter((row) => all || row.removed_at === null);
    cli.output.result(
      { partners: rows.map((row) => ({ ...row, status: partnerStatus(row), max_reservations: limitOf(row) })) },
      table(rows, {
        id: ({ id }) => id,
        name: ({ name }) => name,
        status: statusText,
        created: ({ created_at }) => created_at,
        "reservations at once": limitOf,
      }),
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

function limitOf({ max_reservations }: PartnerRow): number {
  return max_reservations ?? DEFAULT_MAX_RESERVATIONS;
}
