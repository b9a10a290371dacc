import { setTimeout as wait } from "node:timers/promises";
import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { type Command, Option } from "commander";
import type { ActorContext } from "../command-context.ts";
import { integer, oneOf } from "../startup/values.ts";
import { offeredEvents } from "../webhooks/endpoints/endpoint.rules.ts";
import { type DeliveryDetail, listDeliveries, MAX_DELIVERIES, showDelivery } from "../webhooks/log/deliveries.ts";
import { createReplay, type Replay, replayableStates, stopReplay } from "../webhooks/log/replays.ts";
import { redeliver, retryEndpointNow, sendTestDelivery } from "../webhooks/log/resend.ts";
import { type CliContext, withSystem } from "./context.ts";
import { listOf, option, type PartnerOption, pastInstant, readValue, withPartner } from "./options.ts";
import { table } from "./output.ts";
import { describeDelivery } from "./webhooks-text.ts";

type EventOption = (typeof offeredEvents)[number];

interface TestOptions extends PartnerOption {
  readonly event?: EventOption;
}

interface RangeOptions extends PartnerOption {
  readonly since?: string;
  readonly until?: string;
}

interface DeliveriesOptions extends RangeOptions {
  readonly status?: "pending" | "succeeded" | "failed" | "held";
  readonly event?: EventOption;
  readonly limit: number;
  readonly after?: string;
}

interface ReplayOptions extends RangeOptions {
  readonly since: string;
  readonly status?: (typeof replayableStates)[number][];
  readonly dryRun?: boolean;
}

/** `webhooks test`, `deliveries`, `attempts`, `redeliver`, `retry-now`, `replay` and `stop-replay`. */
export function registerDeliveries(webhooks: Command, context: () => CliContext): void {
  withPartner(webhooks.command("test"))
    .description("send one signed example of an event now, and show the whole exchange")
    .addOption(eventOption("which event; the first that the endpoint receives, when not given"))
    .action((options: TestOptions) => test(context(), options));
  withPartner(webhooks.command("deliveries"))
    .description("list a partner's deliveries, the newest first, each explained")
    .addOption(new Option("--status <status>", "only these").choices(["pending", "succeeded", "failed", "held"]))
    .addOption(eventOption("only of this event"))
    .option("--since <time>", SINCE)
    .option("--until <time>", "created before then")
    .addOption(option("--limit <n>", `how many, 1 to ${MAX_DELIVERIES}`, integer(1, MAX_DELIVERIES), "50"))
    .option("--after <delivery id>", "only those after this one, the last of the previous page")
    .action((options: DeliveriesOptions) => deliveries(context(), options));
  webhooks
    .command("attempts")
    .description("show a delivery with every attempt: what was sent, what came back, what is next")
    .argument("<delivery id>")
    .action((id: string) => attempts(context(), id));
  webhooks
    .command("redeliver")
    .description("send a delivery again, now, under the same delivery_id")
    .argument("<delivery id>")
    .action((id: string) => sendAgain(context(), id));
  withPartner(webhooks.command("retry-now"))
    .description("retry now all deliveries that wait for their next attempt, for an endpoint that works again")
    .action((options: PartnerOption) => retryNow(context(), options));
  withPartner(webhooks.command("replay"))
    .description("send a range of deliveries again, after current events")
    .requiredOption("--since <time>", SINCE)
    .option("--until <time>", "created before then; now, when not given")
    .addOption(
      option(
        "--status <a,b>",
        `only these: ${replayableStates.join(", ")}; all of them, when not given`,
        listOf(oneOf(replayableStates)),
      ),
    )
    .option("--dry-run", "only count")
    .action((options: ReplayOptions) => replay(context(), options));
  webhooks
    .command("stop-replay")
    .description("stop a replay: what it has queued is sent, the rest is not")
    .argument("<replay id>")
    .action((id: string) => stop(context(), id));
}

const SINCE = "created from then on: RFC 3339, or back from now such as 24h";

function eventOption(description: string): Option {
  return option("--event <name>", description, oneOf(offeredEvents));
}

/** Milliseconds between two reads of the test's status. Shorter only asks the database more often. */
const POLL_INTERVAL_MS = 100;
/** Twice what an attempt may take. Less gives up on a receiver that answers late. */
const TEST_TIMEOUT_MS = 30_000;

async function test(cli: CliContext, { event, partner }: TestOptions): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const id = await sendTestDelivery(context, { systemId, partnerId: partner, event });
    const delivery = await finishedDelivery(context, systemId, id);
    showDetail(cli, delivery);
    if (delivery.status === "succeeded") return;
    throw new Error(
      delivery.status === "pending"
        ? `Not sent within ${TEST_TIMEOUT_MS / 1000} s: \`webhooks show\` says what waits before it, \`webhooks attempts ${id}\` what becomes of it.`
        : "The endpoint did not receive the test.",
    );
  });
}

/** A delivery that is finished, or as it is when that takes too long. */
async function finishedDelivery(context: ActorContext, systemId: string, id: string): Promise<DeliveryDetail> {
  for (let waitedMs = 0; ; waitedMs += POLL_INTERVAL_MS) {
    const delivery = await showDelivery(context, { systemId, partnerId: null }, id);
    if (delivery.status !== "pending" || waitedMs >= TEST_TIMEOUT_MS) return delivery;
    await wait(POLL_INTERVAL_MS);
  }
}

function showDetail({ output }: CliContext, delivery: DeliveryDetail): void {
  const { exchanges, ...about } = delivery;
  output.result({ ...about, attempts: exchanges, attempts_made: about.attempts }, describeDelivery(delivery));
}

async function deliveries(cli: CliContext, options: DeliveriesOptions): Promise<void> {
  const { partner, status, event, after, limit } = options;
  const filters = { status, event, ...readRange(cli, options), after };
  await withSystem(cli, async (context, systemId) => {
    const page = await listDeliveries(context, { systemId, partnerId: partner, ...filters, limit });
    const shown = table(page.deliveries, {
      id: ({ id }) => id,
      event: (delivery) => delivery.event,
      created: ({ created_at }) => created_at,
      status: (delivery) => delivery.status,
      attempts: (delivery) => delivery.attempts,
      explanation: ({ explanation }) => explanation,
    });
    const more = page.next === null ? "" : `\nMore: --after ${page.next}`;
    const text = page.deliveries.length === 0 ? describeNone(partner, filters) : shown;
    cli.output.result({ deliveries: page.deliveries, next: page.next }, `${text}${more}`);
  });
}

function readRange({ clock }: CliContext, { since, until }: RangeOptions): { since?: Date; until?: Date } {
  return {
    ...(since === undefined ? {} : { since: readValue("--since", since, pastInstant(clock())) }),
    ...(until === undefined ? {} : { until: readValue("--until", until, pastInstant(clock())) }),
  };
}

/** An empty page says more than a header without rows. */
function describeNone(partner: string, filters: Readonly<Record<string, unknown>>): string {
  if (Object.values(filters).some((value) => value !== undefined)) return "No delivery matches.";
  return `No deliveries in the last ${EVENT_RETENTION_DAYS} days. \`webhooks test --partner ${partner}\` sends an example.`;
}

async function attempts(cli: CliContext, id: string): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    showDetail(cli, await showDelivery(context, { systemId, partnerId: null }, id));
  });
}

const redelivered = {
  redelivered: "is due now, with a fresh schedule.",
  retried_now: "waited for its next attempt, which is due now.",
  already_due: "is queued or being sent already: nothing was changed.",
} as const;

async function sendAgain(cli: CliContext, id: string): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const { outcome } = await redeliver(context, { systemId, partnerId: null }, id);
    cli.output.result({ id, outcome }, `${id} ${redelivered[outcome]}`);
  });
}

async function retryNow(cli: CliContext, { partner }: PartnerOption): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const retried = await retryEndpointNow(context, { systemId, partnerId: partner });
    const text = retried === 0 ? "Nothing waits for a later attempt." : `${retried} deliveries are due now.`;
    cli.output.result({ deliveries: retried }, text);
  });
}

async function replay(cli: CliContext, options: ReplayOptions): Promise<void> {
  const { partner, status: statuses, dryRun = false } = options;
  const since = readValue("--since", options.since, pastInstant(cli.clock()));
  const range = { ...readRange(cli, options), since, statuses };
  await withSystem(cli, async (context, systemId) => {
    const made = await createReplay(context, { systemId, partnerId: partner, ...range, dryRun });
    cli.output.result({ ...made, dry_run: dryRun }, describeReplay(made));
  });
}

async function stop(cli: CliContext, id: string): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    const replayed = await stopReplay(context, systemId, id);
    const { changed, queued, total, finished_at: finished } = replayed;
    const text = changed
      ? `Stopped ${id}: ${queued} of ${total} were queued; those that wait in the queue are sent.`
      : `${id} was finished already, ${finished?.toISOString() ?? ""}: ${queued} of ${total} were queued.`;
    cli.output.result({ ...replayed }, text);
  });
}

function describeReplay({ id, total, since, until, endpoint_status: status }: Replay): string {
  const range = `created from ${since.toISOString()} to ${until.toISOString()}`;
  if (total === 0) return `No deliveries ${range} are to be sent again.`;
  if (id === null) return `${total} deliveries ${range} would be sent again.`;
  const waits = status === "active" ? "" : ` They wait until the endpoint is active; it is ${status}.`;
  return `Replay ${id}: ${total} deliveries ${range} are sent again, after current events.${waits}`;
}
