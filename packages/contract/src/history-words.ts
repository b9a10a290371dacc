/** The lengths of a step of a station's history. A day is one of the system's time zone. */
export const historySteps = [
  "PT5M",
  "PT10M",
  "PT15M",
  "PT20M",
  "PT30M",
  "PT1H",
  "PT2H",
  "PT3H",
  "PT4H",
  "PT6H",
  "PT8H",
  "PT12H",
  "P1D",
] as const;
export type HistoryStepLength = (typeof historySteps)[number];
