import type { Requests } from "./requests.ts";

/** An acknowledged ride. */
interface AcknowledgedRide {
  readonly bikeId: string;
  readonly startedAt: string;
  status: "started" | "completed" | "cancelled";
  endedAt: string | undefined;
}

/** An acknowledged reservation, and how the client ended it. `none`: not yet; `left`: it lets the reservation expire. */
interface AcknowledgedReservation {
  readonly partner: number;
  readonly bikeId: string;
  readonly riderRef: string;
  end: "none" | "cancelled" | "fulfilled" | "left";
}

/**
 * The acknowledged results of a workload's clients. A client repeats each request until it is answered, and then records the
 * result. So the ledger is complete when the workload has stopped.
 */
export interface Ledger {
  /** By the ride's id. */
  readonly rides: Map<string, AcknowledgedRide>;
  /** By the reservation's id. */
  readonly reservations: Map<string, AcknowledgedReservation>;
  /** Answers that are wrong while the service works, or contradict earlier ones, one text each. */
  readonly failures: string[];
  readonly requests: Requests;
  /** Whether reservations may end without the clients, such as when an operator's riders take the bikes. */
  readonly othersEndReservations: boolean;
}

export function createLedger(requests: Requests, othersEndReservations = false): Ledger {
  return { rides: new Map(), reservations: new Map(), failures: [], requests, othersEndReservations };
}
