import { type HistoryStepLength, MAX_HISTORY_STEPS } from "@bikeshare/contract/pure";
import { serviceError } from "./service-error.ts";

/*
 * The history of a station: which past instants and steps of time may be asked for, and the sums of each step from the
 * states that were recorded. The service and the SDK's fake use these rules.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** How far the caller's clock may be ahead of ours, in milliseconds. */
const CLOCK_TOLERANCE_MS = MINUTE_MS;

/**
 * Parses the parameter `at`, the instant at which stations are shown.
 * @returns milliseconds since 1970; `now` for an instant slightly later than now
 * @throws ServiceError `outside_history`
 */
export function readInstantOfHistory(at: string, now: number): number {
  const instant = Date.parse(at);
  if (instant <= now) return instant;
  if (instant <= now + CLOCK_TOLERANCE_MS) return now;
  throw serviceError("outside_history", "future", { at, now: new Date(now).toISOString() });
}

/** The requested steps of a station's history. Instants are milliseconds since 1970. */
export interface HistoryRange {
  readonly step: HistoryStepLength;
  /** The start of each step, and the end of the last one. */
  readonly bounds: readonly number[];
}

/**
 * Parses the parameters that select steps of a station's history.
 * @param timeZone an IANA time zone. The first step of a day starts at the beginning of the day in this zone.
 * @throws ServiceError `invalid_parameter` when there are no steps, or too many
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
  const tooManyError = (tooMany: number) =>
    serviceError("invalid_parameter", "tooManySteps", { steps: tooMany, step, limit: MAX_HISTORY_STEPS });
  // Checked before the bounds are computed, because there could be millions of them.
  if (steps > MAX_HISTORY_STEPS) throw tooManyError(steps);
  const bounds = boundsOf(from, to, length, timeZone);
  if (bounds.length - 1 > MAX_HISTORY_STEPS) throw tooManyError(bounds.length - 1);
  return { step, bounds };
}

/** Returns the milliseconds of a step: an ISO 8601 duration such as `PT15M` or `P1D`. A day counts as 24 hours. */
function lengthOf(step: HistoryStepLength): number {
  const [, days, hours, minutes] = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?$/.exec(step) ?? [];
  return Number(days ?? 0) * DAY_MS + Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * MINUTE_MS;
}

/** Returns the bounds of all steps that overlap with the time from `from` to `to`. Each day begins a new step. */
function boundsOf(from: number, to: number, length: number, timeZone: string): number[] {
  const bounds: number[] = [];
  const zone = openZone(timeZone);
  let day = zone.dayOf(from);
  for (let midnight = zone.startOf(day); midnight < to; day++) {
    const next = zone.startOf(day + 1);
    // A step of a day is one day of the time zone, even if that has 23 or 25 hours.
    const isWhole = length >= DAY_MS;
    for (let begin = midnight; begin < next && begin < to;) {
      const end = isWhole ? next : Math.min(begin + length, next);
      if (end > from) bounds.push(begin);
      // The end of the last step.
      if (end >= to) bounds.push(end);
      begin = end;
    }
    midnight = next;
  }
  return bounds;
}

/** Returns functions for the days of a time zone. Days are numbers: 0 is 1970-01-01. */
function openZone(timeZone: string) {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "iso8601",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  /** Milliseconds since 1970-01-01 00:00 on a wall clock of the zone. */
  const local = (instant: number): number => {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(instant)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    // The format has no milliseconds. Before 1970 the remainder is negative, so 1000 is added.
    const milliseconds = ((instant % 1000) + 1000) % 1000;
    return Date.UTC(year, month - 1, day, hour, minute, second) + milliseconds;
  };
  const dayOf = (instant: number) => Math.floor(local(instant) / DAY_MS);
  return {
    dayOf,
    /** Returns the first instant of a day. It is not always 00:00, because a change of the clocks may skip midnight. */
    startOf(day: number): number {
      const midnight = day * DAY_MS;
      // Midnight of UTC, moved by the zone's offset at that time.
      const guess = midnight - (local(midnight) - midnight);
      for (const instant of [guess, guess - HOUR_MS, guess + HOUR_MS])
        if (dayOf(instant) === day && dayOf(instant - 1) < day) return instant;
      // The guesses fail in zones whose clocks change by another amount than an hour, or skip a day: search instead.
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

/** The state of a station from an instant on, until the next recorded state. */
export interface RecordedState {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bikes: number;
  /** Null: not published. */
  readonly docks: number | null;
  readonly isOnline: boolean;
}

/** The mean and bounds of a number during a step of time. */
export interface HistoryLevel {
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

/** How a station was in a step, as the contract has it. `bikes` and `docks` are null when never known during the step. */
export interface HistoryPoint {
  readonly from: string;
  readonly to: string;
  /** The minutes of the step for which the station's state is known. */
  readonly minutes: number;
  readonly bikes: HistoryLevel | null;
  readonly docks: HistoryLevel | null;
  readonly minutes_empty: number;
  readonly minutes_full: number;
  readonly minutes_offline: number;
}

/**
 * Summarises the states of a station, given oldest first, by steps of time. States may be added in several parts, so that
 * not all of them must be in memory at once.
 */
export interface HistoryFold {
  /** Adds states. Of the states before the first step, only the last one counts. */
  add(states: Iterable<RecordedState>): void;
  /** Returns all steps. @param until the state after this instant is not known yet */
  finish(until: number): HistoryPoint[];
}

/** Sums up a number over time, weighted by how long each value lasted. */
class Level {
  /** For how many milliseconds the number was known. */
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

/** The sums of a step so far. */
interface Step {
  readonly bikes: Level;
  readonly docks: Level;
  emptyMs: number;
  fullMs: number;
  offlineMs: number;
}

/** Creates a fold. @param bounds the start of each step, and the end of the last one */
export function foldHistory(bounds: readonly number[]): HistoryFold {
  const steps = bounds
    .slice(1)
    .map((): Step => ({ bikes: new Level(), docks: new Level(), emptyMs: 0, fullMs: 0, offlineMs: 0 }));
  let state: RecordedState | undefined;
  /** The index of the step up to which states have been added. */
  let current = 0;

  /** Adds the present state to the steps, for the time up to `end`. */
  const extendTo = (end: number) => {
    if (state === undefined) return;
    let at = Math.max(state.at, bounds[0] ?? Infinity);
    while (current < steps.length && at < end) {
      const until = bounds[current + 1] ?? Infinity;
      // A step that ended before the state began is passed over.
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
        extendTo(next.at);
        state = next;
      }
    },
    finish(until) {
      extendTo(until);
      return steps.map((step, index) => shownStep(step, bounds[index] ?? 0, bounds[index + 1] ?? 0));
    },
  };
}

/** Adds a state to a step, for the time that it lasted within the step. */
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

/** Rounds to three decimal places. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
