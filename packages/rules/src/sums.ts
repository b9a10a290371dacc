import {
  type ForecastHorizon,
  MAX_FLOW_DAYS,
  MAX_SUMMARY_STEPS,
  type SummaryStepLength,
} from "@bikeshare/contract/pure";
import { serviceError } from "./service-error.ts";

/*
 * Which time spans may be asked for: the steps of the system's summary, the days of flows (numbers of rides between
 * pairs of stations), and the horizons of forecasts (how far ahead they look).
 */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Milliseconds of a step. A day counts as 24 hours. */
const STEP_MS: Readonly<Record<SummaryStepLength, number>> = {
  PT15M: 15 * MINUTE_MS,
  PT1H: 60 * MINUTE_MS,
  P1D: DAY_MS,
};

/** Milliseconds of a horizon, by its name. */
export const horizonMs: Readonly<Record<ForecastHorizon, number>> = {
  PT15M: 15 * MINUTE_MS,
  PT30M: 30 * MINUTE_MS,
  PT45M: 45 * MINUTE_MS,
  PT1H: 60 * MINUTE_MS,
  PT2H: 120 * MINUTE_MS,
};

/** The requested steps of a summary. Days are not rounded yet: that needs the time zone, which the caller knows. */
export interface SummaryRange {
  readonly step: SummaryStepLength;
  /** Milliseconds since 1970. `from` and `to` are bounds of steps, except for steps of a day. */
  readonly from: number;
  readonly to: number;
}

/** Parses the steps of a summary. @throws ServiceError `invalid_parameter` when there are no steps, or too many */
export function readSummaryRange(
  query: {
    readonly from?: string | undefined;
    readonly to?: string | undefined;
    readonly step?: SummaryStepLength | undefined;
  },
  now: number,
): SummaryRange {
  const { step = "PT1H" } = query;
  const length = STEP_MS[step];
  const to = query.to === undefined ? now : Date.parse(query.to);
  const from = query.from === undefined ? to - DAY_MS : Date.parse(query.from);
  if (from >= to) throw serviceError("invalid_parameter", "timesReversed");
  if (from > now) throw serviceError("invalid_parameter", "timesAhead");
  const range =
    step === "P1D"
      ? { from, to, step }
      : { from: Math.floor(from / length) * length, to: Math.ceil(to / length) * length, step };
  const steps = Math.ceil((range.to - range.from) / length);
  if (steps > MAX_SUMMARY_STEPS) {
    throw serviceError("invalid_parameter", "tooManySteps", { steps, step, limit: MAX_SUMMARY_STEPS });
  }
  return range;
}

/** A first and a last day, such as `2026-03-14`, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Returns the day that is `days` later; a negative number: earlier. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/**
 * Parses the days of a request for flows.
 * @param defaults `to`: the last day if the request has none; `days`: the number of days if it has no first day
 * @throws ServiceError `invalid_parameter` when there are no days, or too many
 */
export function readDayRange(
  query: { readonly from?: string | undefined; readonly to?: string | undefined },
  defaults: { readonly to: string; readonly days: number },
): DayRange {
  const { to = defaults.to } = query;
  const { from = addDays(to, 1 - defaults.days) } = query;
  const days = (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS + 1;
  if (days < 1) throw serviceError("invalid_parameter", "daysReversed");
  if (days > MAX_FLOW_DAYS) throw serviceError("invalid_parameter", "tooManyDays", { days, limit: MAX_FLOW_DAYS });
  return { from, to };
}
