import { type HistoryStepLength, MAX_HISTORY_STEPS } from "@bikeshare/contract/pure";
import { serviceError } from "./service-error.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Milliseconds by which the clock of a caller may be ahead of ours. */
const CLOCK_TOLERANCE_MS = MINUTE_MS;

/**
 * Reads the instant that stations are asked for.
 * @returns milliseconds since 1970; now for one that is a little later
 * @throws ServiceError `outside_history`
 */
export function readInstantOfHistory(at: string, now: number): number {
  const instant = Date.parse(at);
  if (instant <= now) return instant;
  if (instant <= now + CLOCK_TOLERANCE_MS) return now;
  throw serviceError("outside_history", "future", { at, now: new Date(now).toISOString() });
}

/** The steps of a station's history that are asked for. Instants are milliseconds since 1970. */
export interface HistoryRange {
  readonly step: HistoryStepLength;
  /** The beginning of each step, and the end of the last. */
  readonly bounds: readonly number[];
}

/**
 * Reads which steps of a station's history are asked for.
 * @param timeZone an IANA zone, from whose midnights on steps are laid
 * @throws ServiceError `invalid_parameter` when they are none, or too many
 */
export function readHistoryRange(
  query: {
    readonly from?: string | undefined;
    readonly to?: string | undefined;
    readonly step?: HistoryStepLength | undefined;
  },
  timeZone: string,
  now: number,
): HistoryRange {
  const { step = "PT15M" } = query;
  const to = Math.min(now, query.to === undefined ? now : Date.parse(query.to));
  const from = query.from === undefined ? to - DAY_MS : Date.parse(query.from);
  if (from > now) throw serviceError("invalid_parameter", "timesAhead");
  if (from >= to) throw serviceError("invalid_parameter", "timesReversed");
  const length = lengthOf(step);
  const steps = Math.ceil((to - from) / length);
  const refuse = (tooMany: number) =>
    serviceError("invalid_parameter", "tooManySteps", { steps: tooMany, step, limit: MAX_HISTORY_STEPS });
  // Before the bounds are made: there could be any number of them.
  if (steps > MAX_HISTORY_STEPS) throw refuse(steps);
  const bounds = boundsOf(from, to, length, timeZone);
  if (bounds.length - 1 > MAX_HISTORY_STEPS) throw refuse(bounds.length - 1);
  return { step, bounds };
}

/** Milliseconds of a step; of a day as most are. */
function lengthOf(step: HistoryStepLength): number {
  const [, days, hours, minutes] = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?$/.exec(step) ?? [];
  return Number(days ?? 0) * DAY_MS + Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * MINUTE_MS;
}

/** Returns the bounds of all steps that overlap with a stretch of time. */
function boundsOf(from: number, to: number, length: number, timeZone: string): number[] {
  const bounds: number[] = [];
  const zone = openZone(timeZone);
  let day = zone.dayOf(from);
  for (let midnight = zone.startOf(day); midnight < to; day++) {
    const next = zone.startOf(day + 1);
    // A day of 25 hours has more than a step of a day, and is one all the same.
    const isWhole = length >= DAY_MS;
    for (let begin = midnight; begin < next && begin < to;) {
      const end = isWhole ? next : Math.min(begin + length, next);
      if (end > from) bounds.push(begin);
      if (end >= to) bounds.push(end);
      begin = end;
    }
    midnight = next;
  }
  return bounds;
}

/** The days of a time zone, as numbers: 0 is that of 1970-01-01. */
function openZone(timeZone: string) {
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone, calendar: "iso8601", numberingSystem: "latn", hourCycle: "h23" },
    ...{ year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" },
  });
  /** Milliseconds since 1970-01-01 00:00 on a wall clock of the zone. */
  const local = (instant: number): number => {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(instant)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) + (((instant % 1000) + 1000) % 1000);
  };
  const dayOf = (instant: number) => Math.floor(local(instant) / DAY_MS);
  return {
    dayOf,
    /** The first instant of a day: not always that of 00:00, which a change of the clocks may skip. */
    startOf(day: number): number {
      const midnight = day * DAY_MS;
      const guess = midnight - (local(midnight) - midnight);
      for (const instant of [guess, guess - HOUR_MS, guess + HOUR_MS])
        if (dayOf(instant) === day && dayOf(instant - 1) < day) return instant;
      // Zones whose clocks change by other steps, or skip a day.
      let before = midnight - 2 * DAY_MS;
      let after = midnight + 2 * DAY_MS;
      while (after - before > 1) {
        const middle = Math.floor((before + after) / 2);
        if (dayOf(middle) < day) before = middle;
        else after = middle;
      }
      return after;
    },
  };
}

/** A station from an instant on. */
export interface RecordedState {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bikes: number;
  /** Null: not published. */
  readonly docks: number | null;
  readonly isOnline: boolean;
}

/** A number over a step of time. */
export interface HistoryLevel {
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

/** How a station was during a step, as the contract has it. */
export interface HistoryPoint {
  readonly from: string;
  readonly to: string;
  readonly minutes: number;
  readonly bikes: HistoryLevel | null;
  readonly docks: HistoryLevel | null;
  readonly minutes_empty: number;
  readonly minutes_full: number;
  readonly minutes_offline: number;
}

/** Folds the states of a station, the oldest first, into steps of time. */
export interface HistoryFold {
  /** Adds some more states. Of several before the first step the last one counts. */
  add(states: Iterable<RecordedState>): void;
  /** @param until what is later is not known yet */
  finish(until: number): HistoryPoint[];
}

/** A number with the time for which it lasted. */
class Level {
  ms = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  add(value: number, ms: number): void {
    this.ms += ms;
    this.#sum += value * ms;
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
  }

  shown(): HistoryLevel | null {
    return this.ms === 0 ? null : { mean: rounded(this.#sum / this.ms), min: this.#min, max: this.#max };
  }
}

interface Step {
  readonly bikes: Level;
  readonly docks: Level;
  emptyMs: number;
  fullMs: number;
  offlineMs: number;
}

/** @param bounds the beginning of each step, and the end of the last */
export function foldHistory(bounds: readonly number[]): HistoryFold {
  const steps = bounds
    .slice(1)
    .map((): Step => ({ bikes: new Level(), docks: new Level(), emptyMs: 0, fullMs: 0, offlineMs: 0 }));
  let state: RecordedState | undefined;
  /** The step in which the state begins. */
  let current = 0;

  const lastTo = (end: number) => {
    if (state === undefined) return;
    let at = Math.max(state.at, bounds[0] ?? Infinity);
    while (current < steps.length && at < end) {
      const until = bounds[current + 1] ?? Infinity;
      if (at < until) {
        addTo(steps[current], state, Math.min(end, until) - at);
        at = Math.min(end, until);
      }
      if (at >= until) current++;
    }
  };
  return {
    add(states) {
      for (const next of states) {
        lastTo(next.at);
        state = next;
      }
    },
    finish(until) {
      lastTo(until);
      return steps.map((step, index) => shownStep(step, bounds[index] ?? 0, bounds[index + 1] ?? 0));
    },
  };
}

function addTo(step: Step | undefined, { bikes, docks, isOnline }: RecordedState, ms: number): void {
  if (step === undefined) return;
  step.bikes.add(bikes, ms);
  if (docks !== null) step.docks.add(docks, ms);
  if (!isOnline) step.offlineMs += ms;
  else {
    if (bikes === 0) step.emptyMs += ms;
    if (docks === 0) step.fullMs += ms;
  }
}

function shownStep({ bikes, docks, emptyMs, fullMs, offlineMs }: Step, from: number, to: number): HistoryPoint {
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    minutes: rounded(bikes.ms / MINUTE_MS),
    bikes: bikes.shown(),
    docks: docks.shown(),
    minutes_empty: rounded(emptyMs / MINUTE_MS),
    minutes_full: rounded(fullMs / MINUTE_MS),
    minutes_offline: rounded(offlineMs / MINUTE_MS),
  };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
