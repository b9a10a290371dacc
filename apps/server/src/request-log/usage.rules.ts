import { dayOf } from "../partitions/partition.rules.ts";
import type { DayUsage, MinuteUsage } from "./queries.ts";

/** A request that carried a key of ours, as its response left. */
export interface LoggedRequest {
  readonly systemId: string;
  readonly id: string;
  /** Milliseconds since 1970 at which it arrived. */
  readonly at: number;
  readonly keyId: string;
  /** Null: an operator key. */
  readonly partnerId: string | null;
  readonly method: string;
  /** The route's pattern. */
  readonly route: string;
  readonly status: number;
  /** The error's code; null: it succeeded. */
  readonly error: string | null;
  readonly ms: number;
  readonly address: string;
}

type Writable<Row> = { -readonly [Name in keyof Row]: Row[Name] };
interface SystemUsage {
  readonly minutes: Map<string, Writable<MinuteUsage>>;
  readonly days: Map<string, Writable<DayUsage>>;
}

const MINUTE_MS = 60_000;
const TOO_MANY_REQUESTS = 429;

/** What keys have done since the counts were taken last, by system. */
export interface UsageCounter {
  /** @param isLogged whether the log keeps the request as well */
  count(request: LoggedRequest, isLogged: boolean): void;
  /** The counts since the last time; they begin again at zero. */
  take(): readonly { readonly systemId: string; readonly minutes: MinuteUsage[]; readonly days: DayUsage[] }[];
}

/** Counts requests by key and minute, and by key, day and route: exact, however many there are. */
export function createUsageCounter(): UsageCounter {
  let systems = new Map<string, SystemUsage>();
  return {
    count(request, isLogged) {
      const { systemId, keyId, at, method, route, ms } = request;
      const usage = entryOf(systems, systemId, () => ({ minutes: new Map(), days: new Map() }));
      const start = at - (at % MINUTE_MS);
      const minute = entryOf(usage.minutes, `${keyId} ${start}`, () => newMinute(request, start));
      add(minute, request.status);
      if (!isLogged) minute.unlogged++;
      const day = dayOf(at);
      const called = `${method} ${route}`;
      const daily = entryOf(usage.days, `${keyId} ${day} ${called}`, () => newDay(request, day, called));
      add(daily, request.status);
      daily.total_ms += ms;
    },
    take() {
      const taken = [...systems].map(([systemId, { minutes, days }]) => ({
        systemId,
        minutes: [...minutes.values()],
        days: [...days.values()],
      }));
      systems = new Map();
      return taken;
    },
  };
}

function entryOf<Entry>(entries: Map<string, Entry>, name: string, make: () => Entry): Entry {
  const known = entries.get(name);
  if (known !== undefined) return known;
  const made = make();
  entries.set(name, made);
  return made;
}

const nothing = { requests: 0, client_errors: 0, server_errors: 0, rate_limited: 0 };

function newMinute({ keyId, partnerId, at }: LoggedRequest, start: number): Writable<MinuteUsage> {
  const whose = { key_id: keyId, partner_id: partnerId };
  return { ...whose, counted_on: dayOf(at), minute: new Date(start), ...nothing, unlogged: 0 };
}

function newDay({ keyId, partnerId }: LoggedRequest, day: string, route: string): Writable<DayUsage> {
  return { key_id: keyId, partner_id: partnerId, day, route, ...nothing, total_ms: 0 };
}

function add(counts: Writable<Pick<DayUsage, keyof typeof nothing>>, status: number): void {
  counts.requests++;
  if (status === TOO_MANY_REQUESTS) counts.rate_limited++;
  else if (status >= 500) counts.server_errors++;
  else if (status >= 400) counts.client_errors++;
}
