import { DEFAULT_MAX_RESERVATIONS, EVENT_RETENTION_DAYS, RATE_WINDOW_SECONDS } from "@bikeshare/contract";
import { type KeyAllowance, MAX_OWN_KEY_DAYS, MAX_OWN_KEYS, MAX_RATE_LIMIT } from "@bikeshare/contract/console";
import { isPlainName, issueText } from "@bikeshare/contract/pure";
import { commandError } from "../command-errors.ts";
import {
  createPartner,
  type PartnerRow,
  partnersOf,
  partnerStatus,
  partnerWithId,
  setKeyAllowance,
  setPartner,
} from "../partners/service.ts";
import { removePartner, resumePartner, suspendPartner } from "../partners/suspend-or-remove.ts";
import { integer } from "../runtime/startup/values.ts";
import { type OpenCli, type ParentCommand, type SystemContext, withSystem } from "./context.ts";
import { option, scopeList, UsageError } from "./options.ts";
import { table } from "./output.ts";
import { describeHeld } from "./webhooks-text.ts";

/** More than any city has bikes: a mistyped number is noticed. */
const MAX_RESERVATIONS = 1_000_000;
const reservationLimit = integer(1, MAX_RESERVATIONS);

/** `partners` with everything on the companies that read the data. */
export function registerPartners(program: ParentCommand, cli: OpenCli): void {
  const partners = program.command("partners").description("the companies that read the data");
  registerCreate(partners, cli);
  registerSet(partners, cli);
  registerAllowKeys(partners, cli);
  partners
    .command("suspend")
    .description("reject a partner's keys and hold its deliveries, until it is resumed")
    .argument("<id>", "the partner")
    .action((id) => withSystem(cli(), (context, systemId) => suspend(context, systemId, id)));
  partners
    .command("resume")
    .description("accept a suspended partner's keys again, and send to its endpoint, beginning with one probe")
    .argument("<id>", "the partner")
    .action((id) => withSystem(cli(), (context, systemId) => resume(context, systemId, id)));
  partners
    .command("remove")
    .description("end a partner for good: its keys, its endpoint and its reservations; the logs stay")
    .argument("<id>", "the partner")
    .option("--yes", "do it: it cannot be undone")
    .action((id, { yes = false }) =>
      withSystem(cli(), async (context, systemId) => {
        if (!yes) throw new UsageError(await describeRemoval(context, systemId, id));
        await remove(context, systemId, id);
      }),
    );
  partners
    .command("list")
    .description("list the partners")
    .option("--all", "removed ones too")
    .action(({ all = false }) => withSystem(cli(), (context, systemId) => list(context, systemId, all)));
}

function registerCreate(partners: ParentCommand, cli: OpenCli): void {
  const limits = `active reservations that it may have at once; ${DEFAULT_MAX_RESERVATIONS}, when not given`;
  partners
    .command("create")
    .description("add a partner")
    .argument("<name>", "the company's name; no other partner's")
    .addOption(option("--max-reservations <n>", limits, reservationLimit))
    .action((given, { maxReservations }) => {
      const name = readName(given);
      return withSystem(cli(), async (context, systemId) => {
        const partner = await createPartner(context, systemId, name, { maxReservations });
        const { id } = partner;
        context.output.result({ id, name, max_reservations: limitOf(partner) }, `Created partner ${id} (${name}).`);
      });
    });
}

function registerSet(partners: ParentCommand, cli: OpenCli): void {
  const limits = `active reservations that it may have at once; \`default\`: ${DEFAULT_MAX_RESERVATIONS}`;
  partners
    .command("set")
    .description("change a partner; what is left out stays")
    .argument("<id>", "the partner")
    .option("--name <name>", "the company's name; no other partner's")
    .addOption(option("--max-reservations <n>", limits, (text) => (text === "default" ? text : reservationLimit(text))))
    .action((id, options) => {
      if (options.name === undefined && options.maxReservations === undefined)
        throw new UsageError("Give at least one of --name and --max-reservations.");
      const maxReservations = options.maxReservations === "default" ? null : options.maxReservations;
      const change = { name: options.name === undefined ? undefined : readName(options.name), maxReservations };
      return withSystem(cli(), async (context, systemId) => {
        const { partner, changed } = await setPartner(context, systemId, id, change);
        const { name } = partner;
        const limit = limitOf(partner);
        context.output.result(
          { id, name, max_reservations: limit, changed },
          `${changed ? "Changed" : "Nothing to change at"} partner ${id} (${name}): ${limit} reservations at once.`,
        );
      });
    });
}

function registerAllowKeys(partners: ParentCommand, cli: OpenCli): void {
  partners
    .command("allow-keys")
    .description("set what keys the partner's own admins may make in the dashboard: none, unless it is set")
    .argument("<id>", "the partner")
    .addOption(option("--scopes <a,b>", "what these keys may do, e.g. stations:read,rides:read", scopeList))
    .addOption(option("--rate-limit <n>", rateLimits, integer(1, MAX_RATE_LIMIT)))
    .addOption(option("--days <n>", "from making a key to its expiry, at most", integer(1, MAX_OWN_KEY_DAYS)))
    .addOption(option("--keys <n>", "keys that may work at once", integer(1, MAX_OWN_KEYS)))
    .option("--none", "no keys; those that they made work on until you revoke them")
    .action((id, { none = false, ...given }) => {
      const allowance = readAllowance(given, none);
      return withSystem(cli(), async (context, systemId) => {
        const { name } = await setKeyAllowance(context, systemId, id, allowance);
        const text = `The admins of ${id} (${name}) may make ${describeAllowance(allowance)}.`;
        context.output.result({ id, key_allowance: allowance }, text);
      });
    });
}

const rateLimits = `requests in any ${RATE_WINDOW_SECONDS} s of all these keys together`;

interface GivenAllowance {
  readonly scopes?: KeyAllowance["scopes"] | undefined;
  readonly rateLimit?: number | undefined;
  readonly days?: number | undefined;
  readonly keys?: number | undefined;
}

function readAllowance({ scopes, rateLimit, days, keys }: GivenAllowance, isNone: boolean): KeyAllowance | null {
  const given = [scopes, rateLimit, days, keys].filter((value) => value !== undefined);
  if (isNone && given.length === 0) return null;
  if (isNone || scopes === undefined || rateLimit === undefined || days === undefined || keys === undefined)
    throw new UsageError("Give all of --scopes, --rate-limit, --days and --keys, or --none alone.");
  return { scopes, rate_limit: rateLimit, days, keys };
}

function describeAllowance(allowance: KeyAllowance | null): string {
  if (allowance === null) return "no keys";
  const { scopes, rate_limit: rate, days, keys } = allowance;
  const bounds = `${rate} requests in any ${RATE_WINDOW_SECONDS} s together, ${days} days each, ${scopes.join(",")}`;
  return `${keys} ${keys === 1 ? "key" : "keys"}: ${bounds}`;
}

async function suspend(context: SystemContext, systemId: string, id: string): Promise<void> {
  const { partner, changed } = await suspendPartner(context, systemId, id);
  const { name, suspended_at } = partner;
  const done = [
    `Suspended ${id} (${name}): its keys are rejected, and its deliveries are held for up to ${EVENT_RETENTION_DAYS} days.`,
    `Its reservations end at their expiry. \`partners resume ${id}\` ends the suspension.`,
  ];
  context.output.result(
    { id, status: partnerStatus(partner), suspended_at, changed },
    changed ? done.join("\n") : `${id} is suspended already, since ${suspended_at?.toISOString() ?? ""}.`,
  );
}

async function resume(context: SystemContext, systemId: string, id: string): Promise<void> {
  const { partner, changed, endpoint } = await resumePartner(context, systemId, id);
  const { probe, held, held_since } = endpoint ?? { probe: null, held: 0, held_since: null };
  const lines = [
    changed ? `Resumed ${id} (${partner.name}): its keys are accepted again.` : `${id} is not suspended.`,
    ...(endpoint === null ? [] : [`Its endpoint is active again: ${probe ?? "the next event"} is sent as a probe.`]),
    ...describeHeld(id, held),
  ];
  context.output.result({ id, status: partnerStatus(partner), changed, probe, held, held_since }, lines.join("\n"));
}

async function remove(context: SystemContext, systemId: string, id: string): Promise<void> {
  const { partner, ...ended } = await removePartner(context, systemId, id);
  const unsent = ended.unsent_deliveries === 0 ? "" : `; ${ended.unsent_deliveries} deliveries were not sent`;
  const lines = [
    `Removed ${id} (${partner.name}).`,
    `Keys revoked: ${ended.revoked_keys}. Reservations cancelled: ${ended.cancelled_reservations}.`,
    ended.endpoint_removed ? `Its endpoint and the secrets are gone${unsent}.` : "It had no endpoint.",
    `The log of its deliveries stays, each for its ${EVENT_RETENTION_DAYS} days. Its past reservations and the audit log stay.`,
  ];
  const { removed_at } = partner;
  context.output.result({ id, status: partnerStatus(partner), removed_at, ...ended }, lines.join("\n"));
}

async function describeRemoval(context: SystemContext, systemId: string, id: string): Promise<string> {
  const partner = await partnerWithId(context, systemId, id);
  if (partner === undefined) return commandError("not_found", "partner", { id }).message;
  return [
    `This ends ${id} (${partner.name}) for good: every key is revoked, its endpoint and the secrets are removed, its active`,
    "reservations are cancelled. Nothing was changed. Add --yes to do it; `partners suspend` can be undone.",
  ].join("\n");
}

async function list(context: SystemContext, systemId: string, all: boolean): Promise<void> {
  const rows = (await partnersOf(context, systemId)).filter((row) => all || row.removed_at === null);
  context.output.result(
    { partners: rows.map((row) => ({ ...row, status: partnerStatus(row), max_reservations: limitOf(row) })) },
    table(rows, {
      id: "id",
      name: "name",
      status: statusText,
      created: "created_at",
      "reservations at once": limitOf,
      "own keys": ownKeys,
    }),
  );
}

function statusText(partner: PartnerRow): string {
  const since = partner.removed_at ?? partner.suspended_at;
  return since === null ? "active" : `${partnerStatus(partner)} ${since.toISOString()}`;
}

function ownKeys({ key_allowance: allowance }: PartnerRow): string {
  return allowance === null ? "none" : `up to ${allowance.keys}`;
}

function readName(text: string): string {
  const name = text.trim();
  if (name === "") throw new UsageError("The name must not be empty.");
  if (!isPlainName(name)) throw new UsageError(`The name ${issueText("plainName")}.`);
  return name;
}

function limitOf({ max_reservations }: PartnerRow): number {
  return max_reservations ?? DEFAULT_MAX_RESERVATIONS;
}
