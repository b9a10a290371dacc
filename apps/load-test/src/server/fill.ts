import { randomUUID } from "node:crypto";
import { MAX_BATCH } from "@bikeshare/contract";
import { createOperatorClient, createRandom, describeCity, makeCity, makeHistory } from "@bikeshare/simulator";

/** How much a service of the load test's own holds. */
export interface CitySize {
  readonly stations: number;
  readonly bikes: number;
  /** Past rides. */
  readonly rides: number;
}

/** Past rides are of as many days, so that bikes have time for them. */
const HISTORY_DAYS = 30;

/** Makes stations, bikes and past rides through the operator interface. */
export async function fillCity(url: string, operatorKey: string, size: CitySize, seed: number): Promise<void> {
  const random = createRandom(seed);
  const city = makeCity(random, size);
  const history = makeHistory(city, random, { rides: size.rides, days: HISTORY_DAYS, now: Date.now() });
  const described = describeCity(city, history.standing);
  const post = createOperatorClient(url, operatorKey);
  const send = async (path: string, items: readonly object[]) => {
    for (let from = 0; from < items.length; from += MAX_BATCH) {
      const answer = await post(path, items.slice(from, from + MAX_BATCH), randomUUID());
      if (answer.kind !== "done") throw new Error(`The service could not be filled (${path}): ${answer.reason}`);
      const failed = answer.results.find(({ error }) => error !== null);
      if (failed !== undefined) throw new Error(`The service could not be filled (${path}): ${failed.error?.message}`);
    }
  };
  const items = (commands: readonly { readonly item: object }[]) => commands.map(({ item }) => item);
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
