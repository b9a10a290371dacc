// Names in sums over time. This file does not import zod, so that packages without zod can use it.

/** Lengths of a step of a summary: ISO 8601 durations. */
export const summarySteps = ["PT15M", "PT1H", "P1D"] as const;
export type SummaryStepLength = (typeof summarySteps)[number];

/** How far ahead a forecast may look. */
export const forecastHorizons = ["PT15M", "PT30M", "PT45M", "PT1H", "PT2H"] as const;
export type ForecastHorizon = (typeof forecastHorizons)[number];

/** Kinds of days. The use of a station differs most between working days and weekends. */
export const dayKinds = ["weekday", "weekend"] as const;
export type DayKind = (typeof dayKinds)[number];
