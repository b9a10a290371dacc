// Every endpoint of the sandbox.
// Made from packages/contract by `pnpm --filter @bikeshare/sdk run generate`. Do not edit here.

/** By verb: method and path, the status of a success, and its kind if it is special. */
export const sandboxRoutes = {
  show: ["GET /sandbox/v1",200],
  reset: ["POST /sandbox/v1/reset",200],
  clock: ["GET /sandbox/v1/clock",200],
  advance: ["POST /sandbox/v1/clock/advance",202,"once"],
  scenario: ["POST /sandbox/v1/scenarios/:name",200,"once"],
  addFault: ["POST /sandbox/v1/faults",200,"once"],
  endFaults: ["DELETE /sandbox/v1/faults",200],
  setWebhookFaults: ["POST /sandbox/v1/webhooks/faults",200],
  trigger: ["POST /sandbox/v1/events/:name",200,"once"],
} as const;
