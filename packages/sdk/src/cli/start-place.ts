import type { BikeShare } from "../client.ts";
import { UsageError } from "../errors/errors.ts";
import { MAX_PAGE_SIZE } from "../routes.generated.ts";

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Behind which event to begin: its id; undefined for the oldest that is kept.
 *
 * @param since nothing for now, `oldest`, a time, a duration such as `10m`, or an event's id
 * @param now milliseconds since 1970
 */
export async function findStart(
  client: BikeShare,
  since: string | undefined,
  now: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (since === "oldest") return undefined;
  if (since === "") throw new UsageError("--since must not be empty");
  const [, amount, unit = ""] = /^(\d+)([smhd])$/.exec(since ?? "") ?? [];
  if (amount !== undefined) return lastBefore(client, now - Number(amount) * (UNITS[unit] ?? 0), signal);
  const isTime = /^\d{4}-\d{2}-\d{2}T/.test(since ?? "");
  if (isTime && Number.isNaN(Date.parse(since ?? ""))) {
    throw new UsageError("--since must be a time such as 2027-01-31T08:00:00Z");
  }
  if (isTime) return lastBefore(client, Date.parse(since ?? ""), signal);
  return since ?? lastBefore(client, Infinity, signal);
}

/**
 * The id of the last event before a time. Events stand in the order in which they were told, which is nearly that of
 * their times: of those that were told late, some may be left out or come again.
 */
async function lastBefore(client: BikeShare, time: number, signal: AbortSignal): Promise<string | undefined> {
  const pageAt = (page: number) => client.events.list({ limit: MAX_PAGE_SIZE, page }, { signal });
  let found: string | undefined;
  // Halves the pages in question: 14 requests find the place among a million events.
  let low = 1;
  let high = (await pageAt(1)).total_pages ?? 1;
  // Now is at the end, where nobody needs to search.
  if (time === Infinity) low = high;
  while (low <= high) {
    const middle = Math.floor((low + high) / 2);
    const { data } = await pageAt(middle);
    const earlier = data.filter(({ occurred_at }) => Date.parse(occurred_at) < time);
    found = earlier.at(-1)?.id ?? found;
    if (data.length > 0 && earlier.length === data.length) low = middle + 1;
    else if (earlier.length > 0) break;
    else high = middle - 1;
  }
  return found;
}
