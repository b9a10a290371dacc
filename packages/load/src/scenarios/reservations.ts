import { apiRequest } from "../contract/endpoints.ts";
import type { CreateScenario, Exchange, ScenarioContext } from "../run-at-rate/scenario.ts";
import { rotation } from "./reading.ts";

/** Maximum reservations that a key holds, on average. A partner may have 50 at once by default. */
const MAX_HELD_PER_KEY = 10;
/** A short hold, so that reservations that are left at the end of the run expire soon. */
const HOLD_MINUTES = 2;

interface Held {
  readonly id: string;
  readonly key: string;
}

/** Reserves a bike at a random station, and cancels it later: about as many cancellations as reservations. */
export const reserveAndCancel: CreateScenario = (context) => {
  const { keys, random } = context;
  const nextKey = rotation(keys);
  const held: Held[] = [];
  const maxHeld = keys.length * MAX_HELD_PER_KEY;
  let count = 0;
  return {
    next() {
      const isCancelling = held.length >= maxHeld || random.next() < 0.5;
      const oldest = isCancelling ? held.shift() : undefined;
      if (oldest !== undefined) return cancellation(oldest);
      return creation(context, nextKey(), `${context.idPrefix}${count++}`, held);
    },
  };
};

function creation({ random, world }: ScenarioContext, key: string, id: string, held: Held[]): Exchange {
  const station = world.stations[random.between(0, world.stations.length - 1)] ?? "";
  // Each reservation has another rider, because a rider may have only one.
  const body = { station_id: station, rider_ref: id, hold_minutes: HOLD_MINUTES };
  return {
    request: { ...apiRequest("reservations.create", { body }), key, headers: { "idempotency-key": id } },
    expected: ["201", "409 no_bike_available"],
    onAnswer(answer) {
      if (answer.status === 201) held.push({ id: (JSON.parse(answer.body) as { id: string }).id, key });
      // Nothing else can be wrong with the answer.
      return undefined;
    },
  };
}

function cancellation({ id, key }: Held): Exchange {
  return {
    request: { ...apiRequest("reservations.cancel", { params: { id } }), key },
    // The bike may have been ridden, or the hold may have expired.
    expected: ["200", "409 reservation_not_active"],
  };
}
