import type { Requests } from "./requests.ts";

/** A ride as the service has acknowledged it. */
interface AcknowledgedRide {
  readonly bikeId: string;
  readonly startedAt: string;
  status: "started" | "completed" | "cancelled";
  endedAt: string | undefined;
}

/** A reservation as the service has acknowledged it. `left`: to expire by itself. */
interface AcknowledgedReservation {
  readonly partner: number;
  readonly bikeId: string;
  readonly riderRef: string;
  end: "none" | "cancelled" | "fulfilled" | "left";
}

/**
 * What the clients of a workload were promised. A write is noted when its answer has come, and each client repeats its
 * request until then: once the workload is stopped, what is here is all there is.
 */
export interface Ledger {
  readonly rides: Map<string, AcknowledgedRide>;
  readonly reservations: Map<string, AcknowledgedReservation>;
  /** Answers that do not fit what was promised before. */
  readonly failures: string[];
  readonly requests: Requests;
  /** Whether reservations end by others too, such as an operator whose riders take the bikes. */
  readonly othersEndReservations: boolean;
}

export function createLedger(requests: Requests, othersEndReservations = false): Ledger {
  return { rides: new Map(), reservations: new Map(), failures: [], requests, othersEndReservations };
}
