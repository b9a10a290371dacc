import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import type { SetEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";
import type { EndpointOverview, EndpointView } from "../webhooks/endpoints/endpoint-view.ts";
import type { DeliveryDetail } from "../webhooks/log/deliveries.ts";
import type { Exchange, HeaderPair } from "../webhooks/log/delivery-view.ts";
import { DAILY_ANSWER_BYTES, SHORT_ANSWER, WHOLE_FAILURES_PER_HOUR } from "../webhooks/rules/log-budget.ts";
import { printable, table } from "./output.ts";

/** What `webhooks set` did. */
export function describeSet(
  { endpoint, outcome, secret, old_secrets_end_at: oldEnd }: SetEndpoint,
  unreadable: readonly string[],
): string {
  const { id, partner_id: partner, url, events, status } = endpoint;
  return [
    `${{ created: "Created", changed: "Changed", unchanged: "Nothing to change at" }[outcome]} endpoint ${id}: ${url}`,
    `Events: ${events.join(", ")}`,
    `Signed with: ${describeSignature(endpoint.signature)}`,
    ...describeUnreadable(unreadable),
    ...(secret === null ? ["Its secret stays as it is."] : ["", ...describeSecret(secret)]),
    ...(oldEnd === null ? [] : [`The old ones sign Service-Signature until ${oldEnd.toISOString()}.`]),
    ...(status === "paused" ? ["It stays paused: `webhooks resume` begins with one probe."] : []),
    ...(outcome === "created" ? ["", `\`webhooks test --partner ${partner}\` sends it a first example.`] : []),
  ].join("\n");
}

/** What `webhooks remove` did. */
export function describeRemoved(id: string, partner: string, unsent: number): string {
  const lines = [
    `Removed ${id}: its secrets are destroyed, and nothing more is sent. Deliveries that are being sent end.`,
    `Its log stays, each delivery for its ${EVENT_RETENTION_DAYS} days. The audit log keeps the URLs that were set.`,
  ];
  if (unsent > 0) {
    lines.push(
      `${unsent} deliveries were not sent. To send them: create it again by \`webhooks set\` with --url and --events,`,
      `then \`webhooks replay --partner ${partner} --since ${EVENT_RETENTION_DAYS}d --status held\`.`,
    );
  }
  return lines.join("\n");
}

/** A secret that is shown only now. */
export function describeSecret(secret: string): string[] {
  return ["Secret:", "", `  ${secret}`, "", "It is shown only now: it is kept encrypted, for signing."];
}

/** What deliveries are signed with. */
function describeSignature(signature: "service" | "both"): string {
  return signature === "both" ? "Service-Signature and Standard Webhooks" : "Service-Signature";
}

/** How many deliveries are held, and how to send or drop them. */
export function describeHeld(partner: string, held: number): string[] {
  if (held === 0) return [];
  return [
    `${held} deliveries are held. They are not sent by themselves:`,
    `  webhooks send-held --partner ${partner}   sends them once the endpoint is active`,
    `  webhooks drop-held --partner ${partner}   gives them up`,
  ];
}

/** A warning where a partner gets by webhook what none of its keys may read. */
function describeUnreadable(events: readonly string[]): string[] {
  if (events.length === 0) return [];
  return [
    `Note: no key of this partner may read the data of these events: ${events.join(", ")}.`,
    "They are sent nevertheless. Leave them out with --events, or issue a key with the scope.",
  ];
}

/** Every endpoint, a line each. */
export function describeOverview({ endpoints, workers }: EndpointOverview): string {
  if (endpoints.length === 0) return "No partner has an endpoint. `webhooks set` makes one.";
  const text = table(endpoints, {
    partner: ({ partner_id }) => partner_id,
    name: ({ partner_name }) => partner_name,
    url: ({ url }) => url ?? "none",
    status: ({ status_text }) => status_text,
    failing: ({ failing_since: since }) => (since === null ? "no" : `since ${since.toISOString()}`),
    waiting: ({ pending }) => pending,
    held: ({ held }) => held,
  });
  return `${text}\nSent by: ${describeWorkers(workers)}`;
}

function describeWorkers(workers: number): string {
  if (workers === 0) return "no process: start one with `serve`";
  return workers === 1 ? "1 process" : `${workers} processes`;
}

/** An endpoint for people. */
export function describeEndpoint(view: EndpointView): string {
  const secrets = view.secrets.map(({ expires_at: end }) => (end === null ? "current" : `until ${end.toISOString()}`));
  const rows: [string, string][] = [
    ["endpoint", view.id],
    ["url", view.url ?? "none"],
    ["events", view.events.length === 0 ? "none" : view.events.join(", ")],
    ["email", view.email ?? "nobody"],
    ["signed", describeSignature(view.signature)],
    ["status", view.status_text],
    ["sent by", describeWorkers(view.workers)],
    ["secrets", secrets.length === 0 ? "none" : `${secrets.length}: ${secrets.join(", ")}`],
    ["failing", failing(view)],
    ["waiting", waiting(view)],
    ["held", view.held_since === null ? "0" : `${view.held}, since ${view.held_since.toISOString()}`],
    ...view.replays.map((replay): [string, string] => ["replay", describeReplay(replay)]),
  ];
  return [
    ...rows.map(([name, value]) => `${name.padEnd(9)} ${value}`),
    ...describeUnreadable(view.unreadable_events),
    ...(view.url === null || view.is_replaying ? [] : describeHeld(view.partner_id, view.held)),
  ].join("\n");
}

function failing({ failing_since: since, failures }: EndpointView): string {
  return since === null ? "no" : `since ${since.toISOString()}, ${failures} attempts`;
}

function waiting({ pending, oldest_due: oldest }: EndpointView): string {
  return oldest === null ? "0" : `${pending}, the first due ${oldest.toISOString()}`;
}

function describeReplay(replay: EndpointView["replays"][number]): string {
  const { id, since, until, total, queued, finished_at: finished } = replay;
  const range = `${since.toISOString()} to ${until.toISOString()}`;
  if (finished === null) return `${id}: ${range}, ${queued} of ${total} queued`;
  const dropped = total - queued === 0 ? "" : `, ${total - queued} left out (no longer kept, or stopped)`;
  return `${id}: ${range}, all ${queued} queued${dropped}`;
}

/** A delivery with its attempts, exchange by exchange. */
export function describeDelivery(delivery: DeliveryDetail): string {
  const { id, event, partner_id: partner, created_at: created, explanation, exchanges } = delivery;
  const head = [`${id}: ${event} for ${partner}, ${created.toISOString()}`, `${delivery.status}: ${explanation}`];
  return [...head, ...exchanges.flatMap((exchange) => ["", ...describeExchange(exchange)])].join("\n");
}

function describeExchange(exchange: Exchange): string[] {
  const { number, started_at: started, summary, request, answer, detail, timings } = exchange;
  const times = Object.entries(timings).flatMap(([name, ms]) =>
    ms === null ? [] : [`${name.replace("_", " ")} ${ms.toFixed(1)} ms`],
  );
  return [
    `--- attempt ${number}, ${started.toISOString()}: ${summary}`,
    ...(detail === null ? [] : [detail]),
    `to ${exchange.remote_address ?? "(no connection)"}${times.length === 0 ? "" : `; ${times.join(", ")}`}`,
    ...describeRequest(exchange.url, request),
    ...describeAnswer(answer),
    ...describeNext(exchange),
  ];
}

function describeRequest(url: string, request: Exchange["request"]): string[] {
  if (request === null) return [`> POST ${url} (what exactly was sent is unknown)`];
  // The connection failed before that: the log holds what would have been sent.
  if (request.headers.length === 0) return [`> POST ${url} (nothing of it was written)`];
  return [
    `> POST ${url}`,
    ...request.headers.map((header) => `> ${headerLine(header)}`),
    ">",
    ...quote(">", request.body),
  ];
}

function describeAnswer(answer: Exchange["answer"]): string[] {
  if (answer === null) return [];
  const { status, headers, body, truncation_reason: truncationReason } = answer;
  const marks = [
    ...(body.encoding === "base64" ? ["(not UTF-8: base64)"] : []),
    ...(body.truncated ? [`(truncated: ${describeTruncation(truncationReason)})`] : []),
  ];
  return [
    `< ${status}`,
    ...headers.map((header) => `< ${headerLine(header)}`),
    "<",
    ...(body.text === "" ? [] : quote("<", body.text)),
    ...marks.map((mark) => `< ${mark}`),
  ];
}

/** Why less of an answer is kept than came. */
function describeTruncation(truncationReason: NonNullable<Exchange["answer"]>["truncation_reason"]): string {
  const short = `${kib(SHORT_ANSWER.headBytes)} of headers, ${kib(SHORT_ANSWER.bodyBytes)} of the body`;
  switch (truncationReason) {
    case "success":
      return `more came than is kept of a success: ${short}`;
    case "repeated_failure":
      return `more came than is kept after the first ${WHOLE_FAILURES_PER_HOUR} failures of an hour: ${short}`;
    case "daily_budget":
      return `only a summary is kept until 00:00 UTC: the answers of the day take ${kib(DAILY_ANSWER_BYTES)} already`;
    case null:
      return "more came than is kept";
  }
}

function kib(bytes: number): string {
  return `${bytes / 1024} KiB`;
}

function describeNext({ next_attempt_at: at, next_attempt_reason: why }: Exchange): string[] {
  return at === null ? [] : [`next attempt ${at.toISOString()}${why === null ? "" : ` (${why})`}`];
}

function headerLine([name, value]: HeaderPair): string {
  return `${name}: ${printable(value)}`;
}

function quote(mark: string, text: string): string[] {
  return text.split(/\r\n|\n|\r/).map((line) => `${mark} ${printable(line)}`);
}
