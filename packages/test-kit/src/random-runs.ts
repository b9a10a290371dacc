/** Returns how many runs a costly random test makes: `TEST_RUNS_FACTOR` multiplies its default number. */
export function randomRuns(byDefault: number): number {
  return Math.ceil(byDefault * Number(process.env["TEST_RUNS_FACTOR"] ?? 1));
}
