import { apiRequest } from "../contract/endpoints.ts";
import type { CreateScenario, RecordedEvent } from "../run-at-rate/scenario.ts";
import { readResults } from "./ride-commands.ts";

/** Starts and ends the rides of a recorded day, in its order. */
export const replayRides: CreateScenario = ({ recorded, operatorKey, idPrefix }) => {
  const acknowledgedEvents: string[] = [];
  /** Bikes with a request under way. */
  const busyBikes = new Set<string>();
  let index = 0;
  return {
    next() {
      const event = recorded[index];
      // At the end of the recording nothing is left. A bike's next request waits for the answer to its previous one, and
      // the events after it wait too, so that the order stays.
      if (event === undefined || busyBikes.has(event.bikeId)) return undefined;
      index++;
      busyBikes.add(event.bikeId);
      const request = requestOf(event);
      return {
        request: { ...request, key: operatorKey, headers: { "idempotency-key": `${idPrefix}${index}` } },
        expected: ["200"],
        onAnswer(answer) {
          busyBikes.delete(event.bikeId);
          const name = event.kind === "start" ? "ride.started" : "ride.completed";
          // The request has one item. Its event counts if the item was done; otherwise its error is returned.
          return readResults(request.endpoint, answer, () => acknowledgedEvents.push(`${name} ${event.rideId}`));
        },
      };
    },
    finish: () => ({ acknowledgedEvents }),
  };
};

function requestOf({ kind, rideId: id, bikeId, stationId }: RecordedEvent) {
  return kind === "start"
    ? apiRequest("operator.rides.start", { body: { items: [{ id, bike_id: bikeId, start_station_id: stationId }] } })
    : apiRequest("operator.rides.end", { body: { items: [{ id, end_station_id: stationId }] } });
}
