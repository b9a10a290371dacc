/** Requests of the last hour, by minute and by key. */
import type { KeyLoad, RequestCounts } from "@bikeshare/contract/console";
import type { KeyFacts, KeyHour } from "../checks/partner-checks.rules.ts";

/** A key's requests in one minute. */
export interface KeyMinute extends RequestCounts {
  readonly key_id: string;
  readonly minute: Date;
}

const MINUTE_MS = 60_000;
const MINUTES = 60;

/** Returns the minutes of the last hour; the present minute is the last. */
export function lastHour(now: number): { readonly starts: readonly Date[]; readonly since: Date } {
  const first = Math.floor(now / MINUTE_MS) * MINUTE_MS - (MINUTES - 1) * MINUTE_MS;
  return {
    starts: Array.from({ length: MINUTES }, (_, index) => new Date(first + index * MINUTE_MS)),
    since: new Date(first),
  };
}

/** Adds up counts. */
export function addCounts(all: readonly RequestCounts[]): RequestCounts {
  const sum = (name: keyof RequestCounts) => all.reduce((total, counts) => total + counts[name], 0);
  return {
    requests: sum("requests"),
    client_errors: sum("client_errors"),
    server_errors: sum("server_errors"),
    rate_limited: sum("rate_limited"),
  };
}

/** Returns each key's requests in the hour. */
export function totalsByKey(used: readonly KeyMinute[]): ReadonlyMap<string, KeyHour> {
  const byKey = Map.groupBy(used, ({ key_id }) => key_id);
  return new Map(
    [...byKey].map(([id, minutes]) => {
      const { requests, rate_limited } = addCounts(minutes);
      return [id, { requests, rate_limited, most_in_minute: Math.max(...minutes.map((each) => each.requests)) }];
    }),
  );
}

/** Returns the active keys with their requests by minute, the most used first. */
export function keyLoads(keys: readonly KeyFacts[], used: readonly KeyMinute[], starts: readonly Date[]): KeyLoad[] {
  const byKey = Map.groupBy(used, ({ key_id }) => key_id);
  const totals = totalsByKey(used);
  return keys
    .filter(({ status }) => status === "active")
    .toSorted((one, other) => (totals.get(other.id)?.requests ?? 0) - (totals.get(one.id)?.requests ?? 0))
    .map(({ id, name, last4, rateLimit }) => ({
      id,
      name,
      last4,
      rate_limit: rateLimit,
      requests: byMinute(byKey.get(id) ?? [], starts, ({ requests }) => requests),
      rate_limited: totals.get(id)?.rate_limited ?? 0,
    }));
}

/** Returns a figure for each minute; 0 for minutes without one. */
export function byMinute<Minute extends { readonly minute: Date }>(
  minutes: readonly Minute[],
  starts: readonly Date[],
  figure: (minute: Minute) => number,
): number[] {
  const found = new Map(minutes.map((each) => [each.minute.getTime(), figure(each)]));
  return starts.map((start) => found.get(start.getTime()) ?? 0);
}
