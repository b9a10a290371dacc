import { setTimeout as sleep } from "node:timers/promises";
import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { Option } from "@commander-js/extra-typings";
import type { ActorContext } from "../command-context.ts";
import { printable } from "../printable.ts";
import { oneOf } from "../runtime/startup/values.ts";
import { offeredEvents } from "../webhooks/endpoints/endpoint-context.ts";
import {
  type DeliveryDetail,
  type DeliveryView,
  listDeliveries,
  MAX_DELIVERIES,
  showDelivery,
} from "../webhooks/log/deliveries.ts";
import { readCodeFilter } from "../webhooks/log/delivery-filter.rules.ts";
import type { Exchange, HeaderPair } from "../webhooks/log/delivery-view.ts";
import {
  countResend,
  createReplay,
  redeliver,
  replayableStates,
  retryEndpointNow,
  sendTestDelivery,
  startResend,
  stopReplay,
} from "../webhooks/log/resend.ts";
import { DAILY_ANSWER_BYTES, SHORT_ANSWER, WHOLE_FAILURES_PER_HOUR } from "../webhooks/rules/log-budget.ts";
import { type CliContext, type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import {
  endpointOption,
  endpointWords,
  limitOption,
  listOf,
  option,
  partnerOption,
  pastInstant,
  readValue,
} from "./options.ts";
import { type Columns, type Result, table } from "./output.ts";

// The commands `webhooks` about deliveries.

/** Registers `webhooks test`, `deliveries`, `attempts`, `redeliver`, `retry-now`, `replay`, `stop-replay` and `resend`. */
export function registerDeliveries(webhooks: ParentCommand, cli: OpenCli): void {
  registerTest(webhooks, cli);
  registerList(webhooks, cli);
  webhooks
    .command("attempts")
    .description("show a delivery with every attempt: request, response, and what happens next")
    .argument("<delivery id>")
    .action((id) =>
      runOnSystem(cli(), async (context) =>
        detailOf(await showDelivery(context, { systemId: context.systemId, partnerId: null }, id)),
      ),
    );
  webhooks
    .command("redeliver")
    .description("send a delivery again now, with the same delivery_id")
    .argument("<delivery id>")
    .action((id) =>
      runOnSystem(cli(), async (context) => {
        const { outcome } = await redeliver(context, { systemId: context.systemId, partnerId: null }, id);
        return { object: { id, outcome }, notes: [redelivered[outcome]] };
      }),
    );
  webhooks
    .command("retry-now")
    .description("retry all waiting deliveries of an endpoint now")
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .action(({ partner: partnerId, endpoint: endpointRef }) =>
      runOnSystem(cli(), async (context) => {
        const retried = await retryEndpointNow(context, { systemId: context.systemId, partnerId, endpointRef });
        return { object: { deliveries: retried }, facts: { "deliveries due now": retried } };
      }),
    );
  registerReplay(webhooks, cli);
  registerResend(webhooks, cli);
}

/** What `redeliver` prints, by its outcome. */
const redelivered = {
  redelivered: "It is due now, with a new schedule of attempts.",
  retried_now: "Its next attempt is due now.",
  already_due: "It is queued or being sent. Nothing was changed.",
} as const;

const eventOption = (description: string) => option("--event <name>", description, oneOf(offeredEvents));
const SINCE = "created from this time on: RFC 3339, or a duration ago such as 24h";
const UNTIL = "created before this time";

/** Milliseconds between two reads of the test's status. Too low: queries the database more often. */
const POLL_INTERVAL_MS = 100;
/** Milliseconds to wait for the test: twice the maximum duration of an attempt. Too low: gives up on a slow receiver. */
const TEST_TIMEOUT_MS = 30_000;

function registerTest(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("test")
    .description("send one signed example of an event now, and show the request and the response")
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .addOption(eventOption("the event (default: the endpoint's first)"))
    .action(({ partner: partnerId, endpoint: endpointRef, event }) =>
      runOnSystem(cli(), async (context) => {
        const { systemId } = context;
        const id = await sendTestDelivery(context, { systemId, partnerId, endpointRef, event });
        const delivery = await finishedDelivery(context, systemId, id);
        return {
          ...detailOf(delivery),
          failure: testFailure(context, `${partnerId}${endpointWords(endpointRef)}`, delivery),
        };
      }),
    );
}

/** @param partner the value of `--partner` in suggested commands, followed by `--endpoint` if the user's command had it */
function testFailure(
  { systemOption }: SystemContext,
  partner: string,
  { id, status }: DeliveryDetail,
): string | undefined {
  if (status === "succeeded") return undefined;
  return status === "pending"
    ? `Test ${id} was not sent within ${TEST_TIMEOUT_MS / 1000} s: \`bikeshare ${systemOption}webhooks show --partner ${partner}\` shows what is queued before it, \`bikeshare ${systemOption}webhooks attempts ${id}\` its progress.`
    : "The endpoint did not receive the test.";
}

/** Returns a delivery once it is finished, or as it is after the timeout. */
async function finishedDelivery(context: ActorContext, systemId: string, id: string): Promise<DeliveryDetail> {
  for (let waitedMs = 0; ; waitedMs += POLL_INTERVAL_MS) {
    const delivery = await showDelivery(context, { systemId, partnerId: null }, id);
    if (delivery.status !== "pending" || waitedMs >= TEST_TIMEOUT_MS) return delivery;
    await sleep(POLL_INTERVAL_MS);
  }
}

const deliveryColumns: Columns<DeliveryView> = {
  id: "id",
  endpoint: "endpoint_name",
  event: "event",
  created: "created_at",
  status: "status",
  attempts: "attempts",
  explanation: "explanation",
};

function registerList(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("deliveries")
    .description("list a partner's deliveries with explanations, newest first")
    .requiredOption(...partnerOption)
    .option("--endpoint <name>", "only this endpoint's: its name or id")
    .addOption(
      new Option("--status <status>", "only this status").choices(["pending", "succeeded", "failed", "held"] as const),
    )
    .addOption(eventOption("only this event"))
    .option("--since <time>", SINCE)
    .option("--until <time>", UNTIL)
    .addOption(limitOption(MAX_DELIVERIES, 50))
    .option("--after <delivery id>", "only deliveries after this one, the last of the previous page")
    .action(({ partner: partnerId, endpoint: endpointRef, status, event, after, limit, ...range }) => {
      return runOnSystem(cli(), async (context) => {
        const { systemId } = context;
        const filters = { status, event, ...readRange(context, range), after };
        const page = await listDeliveries(context, { systemId, partnerId, endpointRef, ...filters, limit });
        const { deliveries, searchedTo } = page;
        const next = page.next?.id ?? null;
        const searched = searchedTo === null ? [] : [`Searched back to ${searchedTo.toISOString()}.`];
        return {
          object: { deliveries, next },
          table: table(
            deliveries,
            deliveryColumns,
            emptyText(context, `${partnerId}${endpointWords(endpointRef)}`, filters),
          ),
          notes: next === null ? [] : [...searched, `More: --after ${next}`],
        };
      });
    });
}

interface Range {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Reads a time range. The database must be open, because `clock` then follows the database's clock. */
function readRange({ clock }: CliContext, { since, until }: Range): { since?: Date; until?: Date } {
  return {
    ...(since === undefined ? {} : { since: readValue("--since", since, pastInstant(clock())) }),
    ...(until === undefined ? {} : { until: readValue("--until", until, pastInstant(clock())) }),
  };
}

/** @param partner the value of `--partner` in a suggested command, and `--endpoint` if the user's command had it */
function emptyText(
  { systemOption }: SystemContext,
  partner: string,
  filters: Readonly<Record<string, unknown>>,
): string {
  if (Object.values(filters).some((value) => value !== undefined)) return "No delivery matches.";
  return `No deliveries in the last ${EVENT_RETENTION_DAYS} days. \`bikeshare ${systemOption}webhooks test --partner ${partner}\` sends an example.`;
}

function registerReplay(webhooks: ParentCommand, cli: OpenCli): void {
  const states = `only these: ${replayableStates.join(", ")} (default: all of them)`;
  webhooks
    .command("replay")
    .description("send a range of deliveries again, after current events")
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .requiredOption("--since <time>", SINCE)
    .option("--until <time>", `${UNTIL} (default: now)`)
    .addOption(option("--status <a,b>", states, listOf(oneOf(replayableStates))))
    .option("--dry-run", "only count them")
    .action(({ partner: partnerId, endpoint: endpointRef, status: statuses, dryRun = false, ...given }) => {
      return runOnSystem(cli(), async (context) => {
        const { systemId } = context;
        const since = readValue("--since", given.since, pastInstant(context.clock()));
        const range = { ...readRange(context, given), since, statuses };
        const made = await createReplay(context, { systemId, partnerId, endpointRef, ...range, dryRun });
        const isWaiting = made.id !== null && made.endpoint_status !== "active";
        return { object: { ...made, dry_run: dryRun }, notes: isWaiting ? [WAITS] : [] };
      });
    });
  webhooks
    .command("stop-replay")
    .description("stop a replay; queued deliveries are sent, the others are not")
    .argument("<replay id>")
    .action((id) =>
      runOnSystem(cli(), async (context) => ({ object: await stopReplay(context, context.systemId, id) })),
    );
}

const WAITS = "They wait until the endpoint is active.";

/** Values of `--status`. `failing`: pending, and the latest attempt has failed. `unsuccessful`: failing or failed. */
const resendStatuses = ["pending", "succeeded", "failed", "held", "failing", "unsuccessful"] as const;

/** Registers `webhooks resend`, which sends all deliveries again that match filters, as the page of deliveries does. */
function registerResend(webhooks: ParentCommand, cli: OpenCli): void {
  webhooks
    .command("resend")
    .description("send all deliveries again that match every filter, after current events")
    .requiredOption(...partnerOption)
    .option(...endpointOption)
    .addOption(option("--status <status>", `only this status: ${resendStatuses.join(", ")}`, oneOf(resendStatuses)))
    .addOption(eventOption("only this event"))
    .addOption(option("--code <code>", "only this latest HTTP status, such as 503 or 5xx", codeFrom))
    .option("--failure <failure>", "only this failure of the latest attempt, such as timeout")
    .option("--resource <id>", "only about this ride, station, reservation or bike")
    .option("--since <time>", SINCE)
    .option("--until <time>", UNTIL)
    .option("--dry-run", "only count them")
    .action(
      ({ partner: partnerId, endpoint: endpointRef, since, until, resource: resourceId, dryRun = false, ...given }) => {
        return runOnSystem(cli(), async (context) => {
          const choice = { filter: { ...given, ...readRange(context, { since, until }), resourceId } };
          const scope = { systemId: context.systemId, partnerId, endpointRef };
          if (dryRun) return { object: { id: null, total: await countResend(context, scope, choice), dry_run: true } };
          const { id, total, status } = await startResend(context, scope, choice);
          return { object: { id, total, dry_run: false }, notes: status === "waiting" ? [WAITS] : [] };
        });
      },
    );
}

function codeFrom(text: string) {
  const code = readCodeFilter(text);
  if (code === undefined) throw new Error("must be a code such as 503, or a class such as 5xx");
  return code;
}

/** Returns a delivery with its attempts. An exchange is the request and the response of one attempt. */
function detailOf(delivery: DeliveryDetail): Result {
  const { exchanges, ...about } = delivery;
  const { id, event, partner_id: partner, endpoint_name: endpoint } = delivery;
  const { created_at: created, status, explanation } = delivery;
  return {
    object: { ...about, attempts: exchanges, attempts_made: about.attempts },
    facts: { delivery: id, event, partner, endpoint, created, status, explanation },
    text: exchanges.map(exchangeText).join("\n\n"),
  };
}

function exchangeText(exchange: Exchange): string {
  const { number, started_at: started, summary, request, answer, detail, timings } = exchange;
  const times = Object.entries(timings).flatMap(([name, ms]) =>
    ms === null ? [] : [`${name.replace("_", " ")} ${ms.toFixed(1)} ms`],
  );
  return [
    `--- attempt ${number}, ${started.toISOString()}: ${summary}`,
    ...(detail === null ? [] : [detail]),
    `to ${exchange.remote_address ?? "(no connection)"}${times.length === 0 ? "" : `; ${times.join(", ")}`}`,
    ...requestLines(exchange.url, request),
    ...answerLines(answer),
    ...nextLines(exchange),
  ].join("\n");
}

function requestLines(url: string, request: Exchange["request"]): string[] {
  if (request === null) return [`> POST ${url} (the exact request is unknown)`];
  // Nothing was sent, because the connection failed: the log holds only the body that was prepared.
  if (request.headers.length === 0) return [`> POST ${url} (nothing of it was written)`];
  return [
    `> POST ${url}`,
    ...request.headers.map((header) => `> ${headerLine(header)}`),
    ">",
    ...quote(">", request.body),
  ];
}

function answerLines(answer: Exchange["answer"]): string[] {
  if (answer === null) return [];
  const { status, headers, body, truncation_reason: truncationReason } = answer;
  const marks = [
    ...(body.encoding === "base64" ? ["(not UTF-8: base64)"] : []),
    ...(body.truncated ? [`(truncated: ${truncationText(truncationReason)})`] : []),
  ];
  return [
    `< ${status}`,
    ...headers.map((header) => `< ${headerLine(header)}`),
    "<",
    ...(body.text === "" ? [] : quote("<", body.text)),
    ...marks.map((mark) => `< ${mark}`),
  ];
}

/** Returns why the log stores less of a response than was received. */
function truncationText(truncationReason: NonNullable<Exchange["answer"]>["truncation_reason"]): string {
  const short = `${kib(SHORT_ANSWER.headBytes)} of headers, ${kib(SHORT_ANSWER.bodyBytes)} of the body`;
  switch (truncationReason) {
    case "success":
      return `of a success, ${short} are kept`;
    case "repeated_failure":
      return `after the first ${WHOLE_FAILURES_PER_HOUR} failures of an hour, ${short} are kept`;
    case "daily_budget":
      return `only a summary is kept until 00:00 UTC: the day's responses exceed ${kib(DAILY_ANSWER_BYTES)}`;
    case null:
      return "the response exceeds what is kept";
  }
}

function kib(bytes: number): string {
  return `${bytes / 1024} KiB`;
}

function nextLines({ next_attempt_at: at, next_attempt_reason: why }: Exchange): string[] {
  return at === null ? [] : [`next attempt ${at.toISOString()}${why === null ? "" : ` (${why})`}`];
}

function headerLine([name, value]: HeaderPair): string {
  return `${name}: ${printable(value)}`;
}

function quote(mark: string, text: string): string[] {
  return text.split(/\r\n|\n|\r/).map((line) => `${mark} ${printable(line)}`);
}
