import type { BikeShare } from "../../client.ts";
import { isRetryable } from "../../core/retry.ts";
import { isBikeShareError, UsageError } from "../../errors/errors.ts";
import type { EventListQuery } from "../../json-types.generated.ts";
import { MAX_PAGE_SIZE } from "../../routes.generated.ts";
import type { Environment } from "../environment.ts";
import { type Output, printable } from "../output.ts";
import type { EventSink } from "./event-sink.ts";

/** Maximum delay between two requests to a service that does not respond. */
const MAX_OUTAGE_DELAY_MS = 30_000;

/** Which events are read, how often, and where they go. */
export interface PollOptions {
  readonly client: BikeShare;
  /** The wanted event names; empty: all. */
  readonly names: readonly string[];
  /** The id of the event after which to begin; undefined: begin with the oldest. */
  readonly start: string | undefined;
  readonly intervalMs: number;
  readonly sink: EventSink;
  readonly environment: Environment;
  readonly output: Output;
}

/**
 * Passes every new event with a wanted name to the sink, once and in order, until the program is stopped. While the service
 * does not respond, it keeps trying.
 *
 * @throws an error when the program is stopped; BikeShareError for an error that a retry cannot fix, such as a missing
 *   scope
 */
export async function pollEvents(options: PollOptions): Promise<never> {
  const { client, names, sink, environment, output } = options;
  const { stopped } = environment;
  const [only] = names;
  // The list filters by one name; with several, all events are listed and filtered here.
  const query: Pick<EventListQuery, "event"> = names.length === 1 ? { event: only as EventListQuery["event"] } : {};
  let lastId = options.start;
  let failures = 0;
  for (;;) {
    try {
      for await (const event of client.events.since(lastId, query, { signal: stopped })) {
        if (names.length === 0 || names.includes(event.event)) await sink.write(event);
        lastId = event.id;
      }
      if (failures > 0) output.note("The service responds again.");
      failures = 0;
    } catch (error) {
      stopped.throwIfAborted();
      if (!isBikeShareError(error) || !isRetryable(error)) throw error;
      if (failures++ === 0) output.note(`The service does not respond; retrying: ${printable(error.message)}`);
    }
    // Doubles after each failure, up to 1024 times the interval and at most MAX_OUTAGE_DELAY_MS.
    const delayMs = options.intervalMs * 2 ** Math.min(failures, 10);
    await environment.wait(failures > 0 ? Math.min(delayMs, MAX_OUTAGE_DELAY_MS) : delayMs, stopped);
  }
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns the id of the event after which to begin; undefined: begin with the oldest event that is kept.
 *
 * @param since the option `--since`: undefined for now, `oldest`, a time, a duration such as `10m`, or an event's id
 * @param now milliseconds since 1970
 */
export async function findStart(
  client: BikeShare,
  since: string | undefined,
  now: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (since === undefined) return lastEventBefore(client, Infinity, signal);
  if (since === "oldest") return undefined;
  if (since === "") throw new UsageError("--since must not be empty");
  const [, amount, unit = ""] = /^(\d+)([smhd])$/.exec(since) ?? [];
  if (amount !== undefined) return lastEventBefore(client, now - Number(amount) * (UNITS_MS[unit] ?? 0), signal);
  if (!/^\d{4}-\d{2}-\d{2}T/.test(since)) return since;
  const time = Date.parse(since);
  if (Number.isNaN(time)) throw new UsageError("--since must be a time such as 2027-01-31T08:00:00Z");
  return lastEventBefore(client, time, signal);
}

/**
 * Returns the id of the last event before a time. The list is sorted by when events were recorded, which is nearly the order
 * of their times. So events that were recorded late may be left out or come again.
 */
async function lastEventBefore(client: BikeShare, time: number, signal: AbortSignal): Promise<string | undefined> {
  const pageAt = (page: number) => client.events.list({ limit: MAX_PAGE_SIZE, page }, { signal });
  let found: string | undefined;
  // A binary search over the pages: 14 requests for a million events.
  let low = 1;
  let high = (await pageAt(1)).total_pages ?? 1;
  // Infinity asks for the last event, which is on the last page.
  if (time === Infinity) low = high;
  while (low <= high) {
    const middle = Math.floor((low + high) / 2);
    const { data } = await pageAt(middle);
    const earlier = data.filter(({ occurred_at }) => Date.parse(occurred_at) < time);
    found = earlier.at(-1)?.id ?? found;
    const areAllEarlier = data.length > 0 && earlier.length === data.length;
    if (areAllEarlier) low = middle + 1;
    // The time is in the middle of this page.
    else if (earlier.length > 0) break;
    else high = middle - 1;
  }
  return found;
}
