import {
  DEFAULT_MAX_RESERVATIONS,
  EVENT_RETENTION_DAYS,
  MAX_RESERVATION_LIMIT,
  RATE_WINDOW_SECONDS,
  scopeNames,
} from "@bikeshare/contract";
import { type KeyAllowance, MAX_OWN_KEY_DAYS, MAX_OWN_KEYS, MAX_RATE_LIMIT } from "@bikeshare/contract/console";
import { commandError } from "../command-errors.ts";
import { listActs } from "../partners/audit/queries.ts";
import { issueKey } from "../partners/keys/service.ts";
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
import { createSandbox } from "../sandbox/service.ts";
import { findShownEndpoints } from "../webhooks/endpoints/endpoint-view.ts";
import { type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import { limitOption, option, pastInstant, plainName, readValue, scopeList, UsageError } from "./options.ts";
import { type Columns, type Result, table } from "./output.ts";
import { heldNotes } from "./webhooks.ts";

// The commands `partners` and `audit`.

const reservationLimit = integer(1, MAX_RESERVATION_LIMIT);

/** Registers `partners create`, `set`, `allow-keys`, `suspend`, `resume`, `remove`, `sandbox` and `list`. */
export function registerPartners(program: ParentCommand, cli: OpenCli): void {
  const partners = program.command("partners").description("manage the companies that read the data");
  registerCreate(partners, cli);
  registerSet(partners, cli);
  registerAllowKeys(partners, cli);
  partners
    .command("suspend")
    .description("reject a partner's keys and hold its deliveries until it is resumed")
    .argument("<id>", "the partner's id")
    .action((id) => runOnSystem(cli(), (context) => suspend(context, id)));
  partners
    .command("resume")
    .description("accept a suspended partner's keys again, and send to its endpoints, each beginning with one probe")
    .argument("<id>", "the partner's id")
    .action((id) => runOnSystem(cli(), (context) => resume(context, id)));
  partners
    .command("remove")
    .description("remove a partner with its keys, its endpoints and its reservations; the logs stay")
    .argument("<id>", "the partner's id")
    .option("--yes", "confirm: a removed partner cannot be restored")
    .action((id, { yes = false }) =>
      runOnSystem(cli(), async (context) => {
        if (!yes) throw new UsageError(await describeRemoval(context, id));
        return remove(context, id);
      }),
    );
  partners
    .command("sandbox")
    .description("make a partner's sandbox, a test city of its own, and issue a key to it, shown once")
    .argument("<id>", "the partner's id")
    .action((id) => runOnSystem(cli(), (context) => sandbox(context, id)));
  partners
    .command("list")
    .description("list the partners")
    .option("--all", "include removed partners")
    .action(({ all = false }) => runOnSystem(cli(), (context) => list(context, all)));
}

function registerCreate(partners: ParentCommand, cli: OpenCli): void {
  const limits = `active reservations at a time (default: ${DEFAULT_MAX_RESERVATIONS})`;
  partners
    .command("create")
    .description("create a partner")
    .argument("<name>", "the company's name, which is unique")
    .addOption(option("--max-reservations <n>", limits, reservationLimit))
    .action((given, { maxReservations }) => {
      const name = readValue("<name>", given, plainName);
      return runOnSystem(cli(), async (context) => {
        const partner = await createPartner(context, context.systemId, name, { maxReservations });
        return { object: { id: partner.id, name, max_reservations: limitOf(partner) } };
      });
    });
}

function registerSet(partners: ParentCommand, cli: OpenCli): void {
  const limits = `active reservations at a time; \`default\` restores ${DEFAULT_MAX_RESERVATIONS}`;
  partners
    .command("set")
    .description("change a partner; settings that you leave out stay")
    .argument("<id>", "the partner's id")
    .addOption(option("--name <name>", "the company's name, which is unique", plainName))
    .addOption(option("--max-reservations <n>", limits, (text) => (text === "default" ? text : reservationLimit(text))))
    .action((id, { name, maxReservations: limit }) => {
      if (name === undefined && limit === undefined)
        throw new UsageError("Give at least one of --name and --max-reservations.");
      const change = { name, maxReservations: limit === "default" ? null : limit };
      return runOnSystem(cli(), async (context) => {
        const { partner, changed } = await setPartner(context, context.systemId, id, change);
        return { object: { id, name: partner.name, max_reservations: limitOf(partner), changed } };
      });
    });
}

function registerAllowKeys(partners: ParentCommand, cli: OpenCli): void {
  const rateLimits = `requests in any ${RATE_WINDOW_SECONDS} s of all these keys together`;
  partners
    .command("allow-keys")
    .description("set which keys the partner's admins may create in the dashboard (default: none)")
    .argument("<id>", "the partner's id")
    .addOption(option("--scopes <a,b>", "scopes that these keys may have, such as stations:read,rides:read", scopeList))
    .addOption(option("--rate-limit <n>", rateLimits, integer(1, MAX_RATE_LIMIT)))
    .addOption(option("--days <n>", "maximum days from creation to expiry", integer(1, MAX_OWN_KEY_DAYS)))
    .addOption(option("--keys <n>", "maximum number of valid keys", integer(1, MAX_OWN_KEYS)))
    .option("--none", "no new keys; existing ones stay valid until you revoke them")
    .action((id, { none = false, ...given }) => {
      const allowance = readAllowance(given, none);
      return runOnSystem(cli(), async (context) => {
        const { name } = await setKeyAllowance(context, context.systemId, id, allowance);
        return {
          object: { id, key_allowance: allowance },
          facts: { id, name, ...(allowance ?? { keys: "none" }) },
        };
      });
    });
}

interface GivenAllowance {
  readonly scopes?: KeyAllowance["scopes"] | undefined;
  readonly rateLimit?: number | undefined;
  readonly days?: number | undefined;
  readonly keys?: number | undefined;
}

/** Returns the allowance that the options give; null for `--none`. @throws UsageError when options are missing */
function readAllowance({ scopes, rateLimit, days, keys }: GivenAllowance, isNone: boolean): KeyAllowance | null {
  const given = [scopes, rateLimit, days, keys].filter((value) => value !== undefined);
  if (isNone && given.length === 0) return null;
  if (isNone || scopes === undefined || rateLimit === undefined || days === undefined || keys === undefined)
    throw new UsageError("Give all of --scopes, --rate-limit, --days and --keys, or --none alone.");
  return { scopes, rate_limit: rateLimit, days, keys };
}

async function suspend(context: SystemContext, id: string): Promise<Result> {
  const { partner, changed } = await suspendPartner(context, context.systemId, id);
  return {
    object: { id, status: partnerStatus(partner), suspended_at: partner.suspended_at, changed },
    notes: [
      `Its keys are rejected, and its deliveries are held for up to ${EVENT_RETENTION_DAYS} days. Its reservations end at their expiry.`,
      `\`partners resume ${id}\` ends the suspension.`,
    ],
  };
}

async function sandbox(context: SystemContext, partnerId: string): Promise<Result> {
  const { sandbox: made, created } = await createSandbox(context, { systemId: context.systemId, partnerId });
  const { system_id: systemId } = made;
  const issued = await issueKey(context, { systemId, partnerId, scopes: scopeNames, name: "made by partners sandbox" });
  return {
    object: { system_id: systemId, key_id: issued.id, key: issued.key, created },
    notes: [
      "Copy the key now: the service stores only its hash and cannot show it again.",
      `Commands reach the sandbox with \`--system ${systemId}\`.`,
    ],
  };
}

async function resume(context: SystemContext, id: string): Promise<Result> {
  const { partner, changed, endpoints } = await resumePartner(context, context.systemId, id);
  const resumed = endpoints.map(({ endpoint, probe, held, held_since }) => {
    return { id: endpoint.id, name: endpoint.name, probe, held, held_since };
  });
  const [first] = resumed;
  const heldSince = resumed.flatMap(({ held_since: at }) => at ?? []);
  // All endpoints, also those that stay paused: where there are several, the commands in the notes must name one.
  const existing = await findShownEndpoints(context, { systemId: context.systemId, partnerId: id });
  const isOne = existing.length === 1;
  return {
    object: {
      id,
      status: partnerStatus(partner),
      changed,
      // Of the first endpoint. `endpoints` has the probe of each.
      probe: first?.probe ?? null,
      held: resumed.reduce((sum, { held }) => sum + held, 0),
      // The earliest.
      held_since: heldSince.toSorted((a, b) => Number(a) - Number(b))[0] ?? null,
      endpoints: resumed,
    },
    notes: [
      ...(changed ? ["Its keys are accepted again."] : ["The partner was not suspended."]),
      ...resumed.flatMap(({ name, id: endpointId, probe, held }) => [
        ...(probe === null ? [`Its endpoint "${name}" is active again; the next event is its probe.`] : []),
        ...heldNotes(context, id, held, isOne ? undefined : endpointId),
      ]),
    ],
  };
}

async function remove(context: SystemContext, id: string): Promise<Result> {
  const { partner, ...ended } = await removePartner(context, context.systemId, id);
  return {
    object: { id, status: partnerStatus(partner), removed_at: partner.removed_at, ...ended },
    notes: [`The log keeps each delivery for ${EVENT_RETENTION_DAYS} days. Past reservations and the audit log stay.`],
  };
}

async function describeRemoval(context: SystemContext, id: string): Promise<string> {
  const partner = await partnerWithId(context, context.systemId, id);
  if (partner === undefined) return commandError("not_found", "partner", { id }).message;
  return [
    `This removes partner ${id} (${partner.name}) for good: it revokes every key, removes the endpoints with their secrets, and`,
    "cancels active reservations. Nothing was changed. Add --yes to do it; `partners suspend` can be undone.",
  ].join("\n");
}

const partnerColumns: Columns<PartnerRow> = {
  id: "id",
  name: "name",
  status: statusText,
  created: "created_at",
  "max reservations": limitOf,
  "own keys": ({ key_allowance: allowance }) => (allowance === null ? "none" : `up to ${allowance.keys}`),
};

async function list(context: SystemContext, all: boolean): Promise<Result> {
  const partners = await partnersOf(context, context.systemId);
  const rows = partners.filter((row) => all || row.removed_at === null);
  return {
    object: { partners: rows.map((row) => ({ ...row, status: partnerStatus(row), max_reservations: limitOf(row) })) },
    table: table(rows, partnerColumns, "No partners. `partners create` creates one."),
  };
}

function statusText(partner: PartnerRow): string {
  const since = partner.removed_at ?? partner.suspended_at;
  return since === null ? "active" : `${partnerStatus(partner)} ${since.toISOString()}`;
}

function limitOf({ max_reservations }: PartnerRow): number {
  return max_reservations ?? DEFAULT_MAX_RESERVATIONS;
}

/** Registers `audit list`. */
export function registerAudit(program: ParentCommand, cli: OpenCli): void {
  program
    .command("audit")
    .description("read the audit log")
    .command("list")
    .description("list who changed systems, partners, keys, webhooks and people, newest first")
    .option("--since <time>", "only entries from this time on: RFC 3339, or a duration ago such as 24h")
    .option("--actor <actor>", "only this actor: cli:<account>, server, person:<id>, or cli for every account")
    .option("--subject <id>", "only changes of this system, partner, key, endpoint, delivery or person")
    .addOption(limitOption(100_000, 100))
    .action(({ since: text, ...filters }) => {
      return runOnSystem(cli(), async ({ db, systemId, clock }) => {
        const since = text === undefined ? undefined : readValue("--since", text, pastInstant(clock()));
        const entries = await listActs(db, systemId, { since, ...filters });
        const detail = (entry: (typeof entries)[number]) => JSON.stringify(entry.detail);
        const columns = { at: "at", actor: "actor", action: "action", subject: "subject", detail } as const;
        return { object: { entries }, table: table(entries, columns, "No audit entries.") };
      });
    });
}
