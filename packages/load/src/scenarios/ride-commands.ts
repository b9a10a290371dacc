import type { BatchResults } from "@bikeshare/contract";
import { apiRequest } from "../contract/endpoints.ts";
import type { Answer } from "../http/client.ts";
import type { CreateScenario, Exchange, OutgoingRequest, ScenarioContext } from "../run-at-rate/scenario.ts";

/** Rides in one batch: as many as an operator's backend collects in some seconds of a busy hour. */
const BATCH_SIZE = 100;

/*
 * Scenarios of an operator's backend, which starts and ends rides. A request has one or more rides as items, and its answer
 * has a result for each.
 */

interface OpenRide {
  readonly id: string;
  readonly bike: string;
}

/** Starts and ends rides, with one ride in each request. */
export const rideCommands: CreateScenario = (context) => createRideScenario(context, 1);
/** Starts and ends rides, with many rides in each request. */
export const operatorBatches: CreateScenario = (context) => createRideScenario(context, BATCH_SIZE);

function createRideScenario(context: ScenarioContext, batchSize: number) {
  // While a request about a bike is under way, the bike is in neither list.
  const free = [...context.bikes];
  const riding: OpenRide[] = [];
  const acknowledgedEvents: string[] = [];
  let requests = 0;
  let rides = 0;
  const send = (rest: Omit<OutgoingRequest, "key">, onDone: (index: number) => void): Exchange => ({
    request: {
      ...rest,
      key: context.operatorKey,
      headers: { "idempotency-key": `${context.idPrefix}${requests++}` },
    },
    expected: ["200"],
    onAnswer: (answer) => readResults(rest.endpoint, answer, onDone),
  });

  const startRides = () => {
    const starting = free.splice(0, batchSize).map((bike) => ({ id: `${context.idPrefix}ride-${rides++}`, bike }));
    const items = starting.map(({ id, bike }) => ({ id, bike_id: bike }));
    return send(apiRequest("operator.rides.start", { body: { items } }), (index) => {
      const ride = starting[index];
      if (ride === undefined) return;
      riding.push(ride);
      acknowledgedEvents.push(`ride.started ${ride.id}`);
    });
  };
  const endRides = () => {
    const ending = riding.splice(0, batchSize);
    const items = ending.map(({ id }) => ({ id, end_station_id: stationFor(context), distance_meters: 1500 }));
    return send(apiRequest("operator.rides.end", { body: { items } }), (index) => {
      const ride = ending[index];
      if (ride === undefined) return;
      free.push(ride.bike);
      acknowledgedEvents.push(`ride.completed ${ride.id}`);
    });
  };
  return {
    next() {
      const canStart = free.length >= batchSize;
      const canEnd = riding.length >= batchSize;
      if (!canStart && !canEnd) return undefined;
      // Every other request ends rides if it can, so that rides end as often as they start.
      const isTurnToEnd = requests % 2 === 1;
      return canEnd && (isTurnToEnd || !canStart) ? endRides() : startRides();
    },
    finish: () => ({ acknowledgedEvents }),
  };
}

function stationFor({ random, world }: ScenarioContext): string {
  return world.stations[random.between(0, world.stations.length - 1)] ?? "";
}

/** Calls `onDone` for each item that was done. @returns the first item error */
export function readResults(endpoint: string, answer: Answer, onDone: (index: number) => void): string | undefined {
  if (answer.status !== 200) return undefined;
  const { results, failed } = JSON.parse(answer.body) as BatchResults;
  for (const [index, { outcome }] of results.entries()) if (outcome !== "failed") onDone(index);
  if (failed === 0) return undefined;
  const first = results.find(({ error }) => error !== null);
  return `${endpoint}: ${failed} of ${results.length} items failed, such as ${first?.id}: ${first?.error?.message}`;
}
