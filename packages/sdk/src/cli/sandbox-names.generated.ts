// What the command line can trigger in a sandbox.
// Made from packages/contract by `pnpm --filter @bikeshare/sdk run generate`. Do not edit here.

export const sandboxEvents = ["ride.started","ride.completed","ride.cancelled","ride.corrected","station.offline","station.online","reservation.created","reservation.cancelled","reservation.expired","reservation.fulfilled","alert.opened","alert.ended","station.below_threshold","station.back_to_normal","station.updated","bike.state_changed"] as const;

/** By name: what each tests a client for. */
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
