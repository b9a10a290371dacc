import { MAX_THRESHOLDS } from "@bikeshare/contract";
import { median } from "@bikeshare/load";
import { recordEvents } from "../../src/events/outbox.ts";
import { createPartner } from "../../src/partners/service.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { MAX_ENDPOINTS } from "../../src/webhooks/endpoints/endpoint-context.ts";
import { addEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import { compareAllStations } from "../../src/webhooks/thresholds.ts";
import { onPostgres, say } from "../processes.ts";
import { LOOPBACK_RULES } from "../provision.ts";
import { CIPHER, makeWorld, type World } from "./world.ts";

/*
 * `pnpm bench webhooks places`: the costs of an event for endpoints that limit events to places (stations, regions or a
 * box), have an hourly limit, or have thresholds.
 */

/** Each partner has the 10 endpoints that it may have: 1,000 in all. */
const PARTNERS = 100;
/** How often each case is measured, after the warm-up. */
const ROUNDS = Number(process.env["PLACES_ROUNDS"] ?? 12);
/** The rides of each case in a round. */
const RIDES = 5;

/**
 * SQL for `station_ids, region_ids, bbox, max_per_hour` of all endpoints in each case. Every ride matches them, so that all
 * cases create the same number of deliveries.
 */
const KINDS = {
  anywhere: "null::text[], null::text[], null::float8[], null::int",
  "by stations":
    "array(select 'station-' || n from generate_series(1, 200) n), null::text[], null::float8[], null::int",
  "by regions": "null::text[], array['north', 'south'], null::float8[], null::int",
  "by a box": "null::text[], null::text[], array[8.0, 47.0, 9.0, 48.0]::float8[], null::int",
  "with a limit": "null::text[], null::text[], null::float8[], 1000",
} as const;

/**
 * Measures how much more a ride's event costs if 1,000 endpoints limit events to places or have an hourly limit, compared
 * with 1,000 endpoints without both. Then measures what comparing stations with thresholds costs.
 */
export function places(): Promise<void> {
  return onPostgres(async ({ connectionString }) => {
    const world = await makeWorld(connectionString, CIPHER, []);
    await fill(world);
    const times: Record<string, number[]> = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, []]));
    // The cases take turns, so that other load on the machine affects all. The first round is a warm-up.
    for (let round = 0; round <= ROUNDS; round++)
      for (const [kind, columns] of Object.entries(KINDS)) {
        await world.db.query(
          statement(
            "",
            `update webhook_endpoints set (station_ids, region_ids, bbox, max_per_hour) = (select ${columns}) where system_id = $1`,
          ),
          [world.systemId],
        );
        // Deletes the deliveries of earlier cases, so that every case is measured with an empty queue.
        await world.db.query(statement("", "delete from webhook_queue where system_id = $1"), [world.systemId]);
        const from = performance.now();
        for (let ride = 0; ride < RIDES; ride++) await recordRide(world);
        if (round > 0) times[kind]?.push((performance.now() - from) / RIDES);
      }
    const base = median(times["anywhere"] ?? []);
    for (const [kind, all] of Object.entries(times))
      say(
        `${kind}: ${median(all).toFixed(1)} ms an event for 1,000 endpoints, ${(median(all) / base).toFixed(2)} times`,
      );
    await measureAlarms(world);
    await measureComparisons(world);
    await world.db.close();
  });
}

/** The number of stations that change between two comparisons. */
const CHANGED = 10;

/**
 * Measures the comparison if the thresholds of each endpoint are for a tenth of the stations, and then a ride's event beside
 * these thresholds.
 */
async function measureComparisons(world: World): Promise<void> {
  const { db, systemId, ids } = world;
  const run = (sql: string, ...values: unknown[]) => db.query(statement("", sql), [systemId, ...values]);
  // Every tenth station, counted from another one for each threshold `n`.
  await run(
    insertThresholds("array(select 'station-' || (17 * n + step * 10) % 1000 + 1 from generate_series(0, 99) step)"),
  );
  const context = { db, ids, clock: () => Date.now() };
  const cases = [
    { what: "all stations, the first time", changed: 1_000, rounds: 1 },
    { what: `${CHANGED} stations`, changed: CHANGED, rounds: ROUNDS },
  ];
  for (const { what, changed, rounds } of cases) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      // The number of bikes alternates between 0 and 1, so that each round changes it.
      await run(
        `update stations set num_bikes_available = ${round % 2}, state_since = now() where system_id = $1 and id in (
           select id from stations where system_id = $1 order by id limit ${changed})`,
      );
      const from = performance.now();
      await compareAllStations(context, systemId);
      times.push(performance.now() - from);
    }
    say(`comparing ${what} with the ${MAX_THRESHOLDS} thresholds of 1,000 endpoints: ${median(times).toFixed(0)} ms`);
  }
  const times: number[] = [];
  for (let ride = 0; ride < ROUNDS; ride++) {
    const from = performance.now();
    await recordRide(world);
    times.push(performance.now() - from);
  }
  say(`a ride's event beside them: ${median(times).toFixed(1)} ms`);
}

/**
 * Measures the case in which one station has no bikes and every threshold of every endpoint is for this station: each
 * threshold makes a delivery.
 */
async function measureAlarms({ db, systemId, ids }: World): Promise<void> {
  const run = (sql: string) => db.query<{ n: number }>(statement("", sql), [systemId]);
  await run(insertThresholds("array['station-1']"));
  await run("update webhook_endpoints set events = events || array['station.below_threshold'] where system_id = $1");
  const started = Date.now();
  const compareAt = (minute: number) => {
    const databaseNow = () => Promise.resolve(new Date(started + minute * 60_000));
    return compareAllStations({ db, ids, clock: () => Date.now(), databaseNow }, systemId);
  };
  // In minute 1 the station begins to be below the thresholds. In minute 20 it has been so for longer than they ask for.
  await compareAt(1);
  const from = performance.now();
  await compareAt(20);
  const ms = performance.now() - from;
  const [recorded] = await run(
    "select count(*) as n from webhook_deliveries where system_id = $1 and event like 'station.%'",
  );
  say(`recording ${recorded?.n} alarms at once, each for one of 1,000 endpoints: ${ms.toFixed(0)} ms`);
  for (const table of ["thresholds", "threshold_states", "threshold_stations"])
    await run(`delete from webhook_${table} where system_id = $1`);
}

/** Returns SQL that gives each endpoint as many thresholds as allowed. */
const insertThresholds = (stationIds: string) =>
  `insert into webhook_thresholds
     (system_id, id, endpoint_id, position, count_of, fewer_than, for_minutes, station_ids, since)
   select $1, id || '_' || n, id, n, 'bikes', n, 10, ${stationIds}, now()
   from webhook_endpoints cross join generate_series(1, ${MAX_THRESHOLDS}) n where system_id = $1`;

/** Creates 1,000 stations, and the partners with their endpoints. */
async function fill({ db, ids, systemId }: World): Promise<void> {
  const context = { db, ids, clock: () => Date.now(), actor: "bench", cipher: CIPHER, rules: LOOPBACK_RULES };
  await db.query(
    statement(
      "",
      `insert into stations (system_id, id, name, lat, lon, region_id, is_installed, is_renting, is_returning, status,
         updated_at, source, counters)
       select $1, 'station-' || n, 'Station', 47.3, 8.5, 'north', true, true, true, 'online', now(), 'operator', 'operated'
       from generate_series(1, 1000) n`,
    ),
    [systemId],
  );
  for (let partner = 0; partner < PARTNERS; partner++) {
    const { id: partnerId } = await createPartner(context, systemId, `Partner ${partner}`);
    for (let n = 0; n < MAX_ENDPOINTS; n++) {
      const settings = { name: `Endpoint ${n}`, url: "http://127.0.0.1:4000/", events: ["ride.*"] };
      await addEndpoint(context, { systemId, partnerId, ...settings });
    }
  }
}

/** Records a ride's event, which makes a delivery for each endpoint. */
async function recordRide({ db, ids, systemId, data }: World): Promise<void> {
  const ride = { ...(JSON.parse(data) as object), start_station_id: "station-1", end_station_id: "station-2" };
  const event = {
    name: "ride.completed",
    occurredAt: new Date(),
    partnerId: null,
    data: JSON.stringify(ride),
  } as const;
  await db.transaction((tx) => {
    recordEvents(tx, { ids, systemId, now: new Date() }, [event]);
    return Promise.resolve();
  });
}
