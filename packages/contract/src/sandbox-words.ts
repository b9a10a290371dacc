/** The scenarios by name, with what happens in each. */
export const sandboxScenarios = {
  "rush-hour": "Many rides start and end at once.",
  "station-outage": "A station goes offline with an alert, and comes back.",
  "bike-breaks-while-reserved": "A reserved bike breaks: its reservation is cancelled.",
  "reservation-expires": "A reservation expires before its bike is taken.",
  "late-report": "A bike's report from before its ride arrives after it, and changes nothing.",
  "ride-corrected": "A ride ends, and is corrected afterwards.",
  "receiver-down-then-recovers": "Deliveries fail for ten seconds. Their next attempts arrive.",
  "key-expires": "A key is made that expires in a minute.",
} as const;
export type SandboxScenarioName = keyof typeof sandboxScenarios;
export const scenarioNames = Object.keys(sandboxScenarios) as [SandboxScenarioName, ...SandboxScenarioName[]];

/** Maximum answers of a fault that ends by their number. No test needs more. */
export const MAX_FAULT_ANSWERS = 1_000_000;
