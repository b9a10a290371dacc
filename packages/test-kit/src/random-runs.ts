/** How many runs a random test makes that is costly, such as one that starts from an empty database each time. */
export function randomRuns(byDefault: number): number {
  return Math.ceil(byDefault * Number(process.env["TEST_RUNS_FACTOR"] ?? 1));
}
