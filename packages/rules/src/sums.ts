import {
  type ForecastHorizon,
  MAX_FLOW_DAYS,
  MAX_SUMMARY_STEPS,
  type SummaryStepLength,
} from "@bikeshare/contract/pure";
import { serviceError } from "./service-error.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Milliseconds of a step; of a day as most are. */
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

/** The steps that a summary is asked for. Whoever knows the time zone rounds days. */
export interface SummaryRange {
  readonly step: SummaryStepLength;
  /** Milliseconds since 1970; for steps other than days at the beginning of one. */
  readonly from: number;
  readonly to: number;
}

/** Reads which steps a summary is asked for. @throws ServiceError `invalid_parameter` when they are none, or too many */
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

/** Days, first and last, such as `2026-03-14`. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Returns the day that is so many days later (negative: earlier). */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/**
 * Reads for which days flows are asked.
 * @param defaults the last day, when none is given, and how many days, when no first one is given
 * @throws ServiceError `invalid_parameter` when they are none, or too many
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
