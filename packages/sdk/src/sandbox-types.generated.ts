// The types of the sandbox's JSON.
// Made from packages/contract by `pnpm --filter @bikeshare/sdk run generate`. Do not edit here.

/** Values of a set that grows: those known today, and any other. */
export type Open<Known extends string> = Known | (string & {});

/** What a sandbox can cause. */
export type SandboxEventName = "ride.started" | "ride.completed" | "ride.cancelled" | "ride.corrected" | "station.offline" | "station.online" | "reservation.created" | "reservation.cancelled" | "reservation.expired" | "reservation.fulfilled" | "alert.opened" | "alert.ended" | "station.below_threshold" | "station.back_to_normal" | "station.updated" | "bike.state_changed";

/** The scenarios that a sandbox plays. */
export type SandboxScenarioName = "rush-hour" | "station-outage" | "bike-breaks-while-reserved" | "reservation-expires" | "late-report" | "ride-corrected" | "receiver-down-then-recovers" | "key-expires";

/** Your test city. */
export interface SandboxStatus {
  system_id: string;
  /** The number from which the city was generated */
  seed: number;
  /** When the city was last generated */
  reset_at: string;
  stations: number;
  bikes: number;
  rides: number;
  /** At 20,000 rides nothing more happens until a reset */
  max_rides: number;
}

/** Which city to generate. */
export interface SandboxReset {
  /** The same seed always generates the same city, byte for byte. When left out: the previous seed */
  seed?: number | undefined;
}

/** What was done to cause an event. */
export interface SandboxEvent {
  event: Open<SandboxEventName>;
  /** The ride, station, reservation, alert or bike that the event is about */
  resource_id: string;
  station_id: string | null;
  /** What happened, in order; each step may cause further events */
  steps: string[];
}

/** Where the event happens. */
export interface SandboxEventRequest {
  /** When left out, the sandbox chooses a station */
  station_id?: string | undefined;
}

/** What a scenario did. */
export interface SandboxScenario {
  scenario: Open<SandboxScenarioName>;
  /** What happened, in order */
  steps: string[];
  /** The key that `key-expires` created; null: another scenario */
  key: string | null;
}

/** The sandbox's clock. */
export interface SandboxClock {
  /** RFC 3339 instant in UTC, to the millisecond */
  now: string;
  /** Seconds added by `clock/advance` since the city was generated */
  advanced_seconds: number;
  /** Whether everything that became due is done: reservations have expired, and deliveries have been attempted */
  ready: boolean;
}

/** How much time passes. */
export interface SandboxClockRequest {
  seconds: number;
}

/** The faults of the API. */
export interface SandboxFaults {
  faults: Array<{
    route: string | null;
    /** `timeout`: the connection ends after 30 s without an answer */
    status: 429 | 500 | 503 | "timeout";
    share: number;
    /** How many more requests fail before the fault ends; null: no limit */
    count: number | null;
    /** RFC 3339 instant in UTC, to the millisecond */
    until: string;
  }>;
}

/** A failure of the API, to test a client with. */
export interface SandboxFaultRequest {
  /** The endpoint that fails, such as `GET /v1/stations/:id`; when left out: every endpoint of /v1 */
  route?: string | undefined;
  /** `timeout`: the connection ends after 30 s without an answer */
  status: 429 | 500 | 503 | "timeout";
  /** The share of requests that fail, up to 1 (all); 1 when left out */
  share?: number | undefined;
  /** How many requests fail before the fault ends; no limit, when left out */
  count?: number | undefined;
  /** When the fault ends; an hour from now, when left out */
  until?: string | undefined;
}

/** Faults of deliveries. They replace the faults that were set before. */
export interface SandboxWebhookFaults {
  /** Seconds before each attempt */
  delay: number;
  /** Each attempt is sent twice */
  duplicate: boolean;
  /** Every second delivery overtakes the previous one */
  reorder: boolean;
  /** Signatures are wrong: a receiver must refuse them */
  bad_signature: boolean;
  /** No attempt reaches the receiver */
  down: boolean;
  /** When these faults end. When left out, they last until others replace them */
  until?: string;
}
