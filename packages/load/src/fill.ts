import { randomUUID } from "node:crypto";
import { MAX_BATCH } from "@bikeshare/contract";
import { createOperatorClient, createRandom, describeCity, makeCity, makeHistory } from "@bikeshare/simulator";

/** The size of the city in a service. */
export interface CitySize {
  readonly stations: number;
  readonly bikes: number;
  /** Past rides. */
  readonly rides: number;
}

/** Days over which past rides are spread, so that bikes have time for them. */
const HISTORY_DAYS = 30;

/** Concurrent batches, so that the client prepares one batch while the service stores another. */
const FILL_CONNECTIONS = 3;

/** Creates stations, bikes and past rides through the operator interface. */
export async function fillCity(url: string, operatorKey: string, size: CitySize, seed: number): Promise<void> {
  const random = createRandom(seed);
  const city = makeCity(random, size);
  const history = makeHistory(city, random, { rides: size.rides, days: HISTORY_DAYS, now: Date.now() });
  // `standing` has the bikes that are on no ride at the end of the history, each with its station.
  const described = describeCity(city, history.standing);
  const items = (commands: readonly { readonly item: object }[]) => commands.map(({ item }) => item);
  const send = batchSender(url, operatorKey);
  await send("stations", items(described.stations));
  await send("bikes", items(described.bikes));
  await send(
    "rides",
    history.rides.map((ride) => ({
      id: ride.id,
      bike_id: ride.bike.id,
      started_at: new Date(ride.startedAt).toISOString(),
      ended_at: new Date(ride.endedAt).toISOString(),
      start_station_id: ride.from.id,
      end_station_id: ride.to?.id ?? null,
      distance_meters: ride.distanceMeters,
      rider_category: ride.riderCategory,
    })),
  );
}

/** Returns a function that sends items in batches. It throws if an item of a batch does not succeed. */
export function batchSender(
  url: string,
  operatorKey: string,
): (path: string, items: readonly object[]) => Promise<void> {
  const post = createOperatorClient(url, operatorKey);
  const sendOne = async (path: string, batch: readonly object[]) => {
    const idempotencyKey = randomUUID();
    const answer = await post(path, batch, idempotencyKey);
    if (answer.kind !== "done") throw new Error(`The service could not be filled (${path}): ${answer.reason}`);
    const failed = answer.results.find(({ error }) => error !== null);
    if (failed !== undefined) throw new Error(`The service could not be filled (${path}): ${failed.error?.message}`);
  };
  return async (path, items) => {
    const batches = Array.from({ length: Math.ceil(items.length / MAX_BATCH) }, (_, index) =>
      items.slice(index * MAX_BATCH, (index + 1) * MAX_BATCH),
    ).values();
    const sendAll = async () => {
      for (const batch of batches) await sendOne(path, batch);
    };
    // All connections take their batches from the same iterator.
    await Promise.all(Array.from({ length: FILL_CONNECTIONS }, sendAll));
  };
}
