import { dayOf } from "../../storage/partitions/partition.rules.ts";
import type { DayUsage, MinuteUsage } from "./queries.ts";
import type { RefusedDetails } from "./refused-details.rules.ts";

/*
 * Collects requests in memory, until service.ts writes them: a bounded buffer for the log, and exact counts of all requests
 * for the usage.
 */

/** A request that carried a key of this service, after its response was sent. */
export interface LoggedRequest {
  readonly systemId: string;
  readonly id: string;
  /** Milliseconds since 1970 at which it arrived. */
  readonly at: number;
  readonly keyId: string;
  /** Null: an operator key. */
  readonly partnerId: string | null;
  readonly method: string;
  /** The route's pattern, such as `/v1/rides/:id`; at /mcp followed by the method and the tool. */
  readonly route: string;
  readonly status: number;
  /** The error's code; null: it succeeded. */
  readonly error: string | null;
  /** Milliseconds that it took. */
  readonly ms: number;
  /** The caller's address. */
  readonly address: string;
  /** Details of a rejected request; omitted when they are not stored. */
  readonly details?: RefusedDetails | undefined;
}

/**
 * Maximum number of requests in one write, which happens once a second. Each costs PostgreSQL up to 26 µs: more requests
 * would cost over 1.3 % of a core.
 */
const MAX_REQUESTS = 500;
/**
 * Requests of each key that may use the whole buffer. Further requests of a key may use only half of it, so that one busy
 * key leaves room for others.
 */
const RESERVED_PER_KEY = 10;

/** Requests that wait to be written. */
export interface RequestBuffer {
  /** Adds a request. @returns false when there are too many, and the request was left out */
  add(request: LoggedRequest): boolean;
  /** Returns and removes the buffered requests, and the number of requests that did not fit. */
  take(): { readonly requests: LoggedRequest[]; readonly unlogged: number };
}

/** Creates an empty buffer. */
export function createRequestBuffer(): RequestBuffer {
  let requests: LoggedRequest[] = [];
  let byKey: Map<string, number> = new Map();
  let unlogged = 0;
  return {
    add(request) {
      const own = byKey.get(request.keyId) ?? 0;
      const isWithinBounds = requests.length < (own < RESERVED_PER_KEY ? MAX_REQUESTS : MAX_REQUESTS / 2);
      if (isWithinBounds) {
        byKey.set(request.keyId, own + 1);
        requests.push(request);
      } else unlogged++;
      return isWithinBounds;
    },
    take() {
      const taken = { requests, unlogged };
      requests = [];
      byKey = new Map();
      unlogged = 0;
      return taken;
    },
  };
}

type Writable<Row> = { -readonly [Name in keyof Row]: Row[Name] };
type Minutes = Map<string, Writable<MinuteUsage>>;
type Days = Map<string, Writable<DayUsage>>;
interface SystemUsage {
  readonly minutes: Minutes;
  readonly days: Days;
}

const MINUTE_MS = 60_000;
const TOO_MANY_REQUESTS = 429;

/** Counts the usage of keys since the counts were taken last, by system. */
export interface UsageCounter {
  /** @param isLogged whether the log keeps the request as well */
  count(request: LoggedRequest, isLogged: boolean): void;
  /** Returns the counts since the last call, and resets them to zero. */
  take(): readonly { readonly systemId: string; readonly minutes: MinuteUsage[]; readonly days: DayUsage[] }[];
}

/** Counts requests by key and minute, and by key, day and route: exact, however many there are. */
export function createUsageCounter(): UsageCounter {
  let systems: Map<string, SystemUsage> = new Map();
  return {
    count(request, isLogged) {
      const { systemId, keyId, at, method, route, ms } = request;
      const usage = entryOf(systems, systemId, newSystem);
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

/** Returns an entry of a map. Makes it if there is none. */
function entryOf<Entry>(entries: Map<string, Entry>, name: string, make: () => Entry): Entry {
  const known = entries.get(name);
  if (known !== undefined) return known;
  const made = make();
  entries.set(name, made);
  return made;
}

function newSystem(): SystemUsage {
  return { minutes: new Map(), days: new Map() };
}

const nothing = { requests: 0, client_errors: 0, server_errors: 0, rate_limited: 0 };

function newMinute({ keyId, partnerId, at }: LoggedRequest, start: number): Writable<MinuteUsage> {
  const whose = { key_id: keyId, partner_id: partnerId };
  return { ...whose, counted_on: dayOf(at), minute: new Date(start), ...nothing, unlogged: 0 };
}

function newDay({ keyId, partnerId }: LoggedRequest, day: string, route: string): Writable<DayUsage> {
  return { key_id: keyId, partner_id: partnerId, day, route, ...nothing, total_ms: 0 };
}

/** Adds a request to counts of a minute or a day. */
function add(counts: Writable<Pick<DayUsage, keyof typeof nothing>>, status: number): void {
  counts.requests++;
  if (status === TOO_MANY_REQUESTS) counts.rate_limited++;
  else if (status >= 500) counts.server_errors++;
  else if (status >= 400) counts.client_errors++;
}
