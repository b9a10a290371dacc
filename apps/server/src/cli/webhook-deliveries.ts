import { setTimeout as sleep } from "node:timers/promises";
import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { Option } from "@commander-js/extra-typings";
import type { ActorContext } from "../command-context.ts";
import { oneOf } from "../runtime/startup/values.ts";
import { offeredEvents } from "../webhooks/endpoints/endpoint.rules.ts";
import { countResend, startResend } from "../webhooks/log/bulk-resend.ts";
import { type DeliveryDetail, listDeliveries, MAX_DELIVERIES, showDelivery } from "../webhooks/log/deliveries.ts";
import { readCodeFilter } from "../webhooks/log/delivery-filter.rules.ts";
import { createReplay, type Replay, replayableStates, stopReplay } from "../webhooks/log/replays.ts";
import { redeliver, retryEndpointNow, sendTestDelivery } from "../webhooks/log/resend.ts";
import { type CliContext, type OpenCli, type ParentCommand, withSystem } from "./context.ts";
import { limitOption, listOf, option, partnerOption, pastInstant, readValue } from "./options.ts";
import { table } from "./output.ts";
import { describeDelivery } from "./webhooks-text.ts";

/** `webhooks test`, `deliveries`, `attempts`, `redeliver`, `retry-now`, `replay`, `stop-replay` and `resend`. */
export function registerDeliveries(webhooks: ParentCommand, cli: OpenCli): void {
  registerTest(webhooks, cli);
  registerList(webhooks, cli);
  webhooks
    .command("attempts")
    .description("show a delivery with every attempt: what was sent, what came back, what is next")
    .argument("<delivery id>")
    .action((id) =>
      withSystem(cli(), async (context, systemId) => {
        showDetail(context, await showDelivery(context, { systemId, partnerId: null }, id));
      }),
    );
  webhooks
    .command("redeliver")
    .description("send a delivery again, now, under the same delivery_id")
    .argument("<delivery id>")
    .action((id) =>
      withSystem(cli(), async (context, systemId) => {
        const { outcome } = await redeliver(context, { systemId, partnerId: null }, id);
        context.output.result({ id, outcome }, `${id} ${redelivered[outcome]}`);
      }),
    );
  webhooks
    .command("retry-now")
    .description("retry now all deliveries that wait for their next attempt, for an endpoint that works again")
    .requiredOption(...partnerOption)
    .action(({ partner: partnerId }) =>
      withSystem(cli(), async (context, systemId) => {
        const retried = await retryEndpointNow(context, { systemId, partnerId });
        const text = retried === 0 ? "Nothing waits for a later attempt." : `${retried} deliveries are due now.`;
        context.output.result({ deliveries: retried }, text);
      }),
    );
  registerReplay(webhooks, cli);
  registerResend(webhooks, cli);
}

const redelivered = {
  redelivered: "is due now, with a fresh schedule.",
  retried_now: "waited for its next attempt, which is due now.",
  already_due: "is queued or being sent already: nothing was changed.",
} as const;

const eventOption = (description: string) => option("--event <name>", description, oneOf(offeredEvents));
const SINCE = "created from then on: RFC 3339, or back from now such as 24h";

/** Between two reads of the test's status. Shorter only asks the database more often. */
const POLL_INTERVAL_MS = 100;
/** Twice what an attempt may take. Less gives up on a receiver that answers late. */
const TEST_TIMEOUT_MS = 30_000;

function registerTest(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("test")
    .description("send one signed example of an event now, and show the whole exchange")
    .requiredOption(...partnerOption)
    .addOption(eventOption("which event; the first that the endpoint receives, when not given"))
    .action(({ partner: partnerId, event }) =>
      withSystem(cli(), async (context, systemId) => {
        const id = await sendTestDelivery(context, { systemId, partnerId, event });
        const delivery = await finishedDelivery(context, systemId, id);
        showDetail(context, delivery);
        if (delivery.status === "succeeded") return;
        throw new Error(
          delivery.status === "pending"
            ? `Not sent within ${TEST_TIMEOUT_MS / 1000} s: \`webhooks show\` says what waits before it, \`webhooks attempts ${id}\` what becomes of it.`
            : "The endpoint did not receive the test.",
        );
      }),
    );
}

/** A delivery that is finished, or as it is when that takes too long. */
async function finishedDelivery(context: ActorContext, systemId: string, id: string): Promise<DeliveryDetail> {
  for (let waitedMs = 0; ; waitedMs += POLL_INTERVAL_MS) {
    const delivery = await showDelivery(context, { systemId, partnerId: null }, id);
    if (delivery.status !== "pending" || waitedMs >= TEST_TIMEOUT_MS) return delivery;
    await sleep(POLL_INTERVAL_MS);
  }
}

function showDetail({ output }: CliContext, delivery: DeliveryDetail): void {
  const { exchanges, ...about } = delivery;
  output.result({ ...about, attempts: exchanges, attempts_made: about.attempts }, describeDelivery(delivery));
}

function registerList(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("deliveries")
    .description("list a partner's deliveries, the newest first, each explained")
    .requiredOption(...partnerOption)
    .addOption(new Option("--status <status>", "only these").choices(["pending", "succeeded", "failed", "held"]))
    .addOption(eventOption("only of this event"))
    .option("--since <time>", SINCE)
    .option("--until <time>", "created before then")
    .addOption(limitOption(MAX_DELIVERIES, 50))
    .option("--after <delivery id>", "only those after this one, the last of the previous page")
    .action(({ partner: partnerId, status, event, after, limit, ...range }) => {
      const filters = { status, event, ...readRange(cli(), range), after };
      return withSystem(cli(), async (context, systemId) => {
        const page = await listDeliveries(context, { systemId, partnerId, ...filters, limit });
        const { deliveries, searchedTo } = page;
        const next = page.next?.id ?? null;
        const shown = table(deliveries, {
          id: "id",
          event: "event",
          created: "created_at",
          status: "status",
          attempts: "attempts",
          explanation: "explanation",
        });
        const searched = searchedTo === null ? "" : `\nSearched back to ${searchedTo.toISOString()}.`;
        const more = next === null ? "" : `${searched}\nMore: --after ${next}`;
        const text = deliveries.length === 0 ? describeNone(partnerId, filters) : shown;
        context.output.result({ deliveries, next }, `${text}${more}`);
      });
    });
}

interface Range {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

function readRange({ clock }: CliContext, { since, until }: Range): { since?: Date; until?: Date } {
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

function registerReplay(webhooks: ParentCommand, cli: OpenCli): void {
  const states = `only these: ${replayableStates.join(", ")}; all of them, when not given`;
  webhooks
    .command("replay")
    .description("send a range of deliveries again, after current events")
    .requiredOption(...partnerOption)
    .requiredOption("--since <time>", SINCE)
    .option("--until <time>", "created before then; now, when not given")
    .addOption(option("--status <a,b>", states, listOf(oneOf(replayableStates))))
    .option("--dry-run", "only count")
    .action(({ partner: partnerId, status: statuses, dryRun = false, ...given }) => {
      const since = readValue("--since", given.since, pastInstant(cli().clock()));
      const range = { ...readRange(cli(), given), since, statuses };
      return withSystem(cli(), async (context, systemId) => {
        const made = await createReplay(context, { systemId, partnerId, ...range, dryRun });
        context.output.result({ ...made, dry_run: dryRun }, describeReplay(made));
      });
    });
  webhooks
    .command("stop-replay")
    .description("stop a replay: what it has queued is sent, the rest is not")
    .argument("<replay id>")
    .action((id) =>
      withSystem(cli(), async (context, systemId) => {
        const replayed = await stopReplay(context, systemId, id);
        const { changed, queued, total, finished_at: finished } = replayed;
        const text = changed
          ? `Stopped ${id}: ${queued} of ${total} were queued; those that wait in the queue are sent.`
          : `${id} was finished already, ${finished?.toISOString() ?? ""}: ${queued} of ${total} were queued.`;
        context.output.result({ ...replayed }, text);
      }),
    );
}

function describeReplay({ id, total, since, until, endpoint_status: status }: Replay): string {
  const range = `created from ${since.toISOString()} to ${until.toISOString()}`;
  if (total === 0) return `No deliveries ${range} are to be sent again.`;
  if (id === null) return `${total} deliveries ${range} would be sent again.`;
  const waits = status === "active" ? "" : ` They wait until the endpoint is active; it is ${status}.`;
  return `Replay ${id}: ${total} deliveries ${range} are sent again, after current events.${waits}`;
}

const statuses = ["pending", "succeeded", "failed", "held", "failing", "unsuccessful"] as const;

/** `webhooks resend`: all deliveries that filters let through, as on the page of deliveries. */
function registerResend(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("resend")
    .description("send all deliveries again that match every filter, after current events")
    .requiredOption(...partnerOption)
    .addOption(option("--status <status>", `only these: ${statuses.join(", ")}`, oneOf(statuses)))
    .addOption(option("--event <name>", "only of this event", oneOf(offeredEvents)))
    .addOption(option("--code <code>", "only those last answered so, such as 503 or 5xx", codeFrom))
    .option("--failure <failure>", "only those whose latest attempt failed so, such as timeout")
    .option("--resource <id>", "only about this ride, station, reservation or bike")
    .option("--since <time>", "created from then on: RFC 3339, or back from now such as 24h")
    .option("--until <time>", "created before then")
    .option("--dry-run", "only count")
    .action(({ partner: partnerId, since, until, resource: resourceId, dryRun = false, ...given }) => {
      const instant = (name: string, text: string | undefined) =>
        text === undefined ? undefined : readValue(name, text, pastInstant(cli().clock()));
      const range = { since: instant("--since", since), until: instant("--until", until) };
      const choice = { filter: { ...given, ...range, resourceId } };
      return withSystem(cli(), async (context, systemId) => {
        const scope = { systemId, partnerId };
        if (dryRun) {
          const total = await countResend(context, scope, choice);
          context.output.result({ id: null, total, dry_run: true }, `${total} deliveries would be sent again.`);
          return;
        }
        const { id, total, status } = await startResend(context, scope, choice);
        const waits = status === "waiting" ? " They wait until the endpoint is active." : "";
        context.output.result(
          { id, total, dry_run: false },
          `Resend ${id}: ${total} deliveries are sent again.${waits}`,
        );
      });
    });
}

function codeFrom(text: string) {
  const code = readCodeFilter(text);
  if (code === undefined) throw new Error("must be a code such as 503, or a class such as 5xx");
  return code;
}
