import { randomUUID } from "node:crypto";
import type { BatchResults } from "@bikeshare/contract";
import { type Database, openDatabase } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { BIKES, type CityKeys, STATIONS, stationId } from "./city.ts";
import { Connection } from "./connection.ts";

/** Callers that each make one call after the other, on a connection of their own. */
export interface Load {
  readonly name: string;
  readonly commandsPerCall: number;
  readonly callers: readonly (() => Promise<void>)[];
  close(): Promise<void>;
}

/** Shares no factor with the number of bikes, so that what follows each other is spread over the city. */
const STRIDE = 7919;
let rides = 0;

/** Rides that start and end, `size` in a call. Every load, and each of its callers, has bikes of its own. */
export function rideLoad(
  url: string,
  { operator }: CityKeys,
  bikes: { readonly first: number; readonly count: number },
  { size, connections }: { readonly size: number; readonly connections: number },
): Load {
  const all = Array.from({ length: connections }, () => new Connection(url, operator));
  const perCaller = Math.floor(bikes.count / connections);
  const callers = all.map((connection, index) => {
    let turn = 0;
    let begun: { readonly id: string; readonly bike: number }[] = [];
    return async () => {
      if (begun.length === 0) {
        const from = turn++ * size;
        const next = Array.from({ length: size }, (_, n) => bikes.first + index * perCaller + ((from + n) % perCaller));
        begun = next.map((n) => ({ id: `ride-${++rides}`, bike: (n * STRIDE) % BIKES }));
        await post(
          connection,
          "rides/start",
          begun.map(({ id, bike }) => ({ id, bike_id: `bike-${bike}` })),
        );
      } else {
        const ended = begun.map(({ id, bike }) => ({
          id,
          end_station_id: stationId(bike + turn),
          distance_meters: 1500,
        }));
        begun = [];
        await post(connection, "rides/end", ended);
      }
    };
  });
  const name = size === 1 ? "one ride a call" : `${size} rides a call`;
  return { name: `${name}, ${connections} conn.`, commandsPerCall: size, callers, close: closing(all) };
}

/** Sends a batch, every item of which must be done. */
async function post(connection: Connection, path: string, items: readonly object[]): Promise<void> {
  const { status, body } = await connection.send(
    "POST",
    `/operator/v1/${path}`,
    JSON.stringify({ items }),
    randomUUID(),
  );
  const failed = status === 200 ? (JSON.parse(body) as BatchResults).failed : items.length;
  if (failed > 0) throw new Error(`${path}: ${status} ${body.slice(0, 500)}`);
}

/** Reservations of a bike of any station, created and cancelled. */
export function reservationLoad(url: string, { partners }: CityKeys, connections: number): Load {
  const all = Array.from({ length: connections }, (_, n) => new Connection(url, partners[n % partners.length] ?? ""));
  const callers = all.map((connection, index) => {
    let turn = 0;
    let held: string | undefined;
    return async () => {
      if (held === undefined) {
        const station = stationId(((index + turn++ * connections) * STRIDE) % STATIONS);
        const request = JSON.stringify({ station_id: station, rider_ref: `rider-${index}` });
        const { status, body } = await connection.send("POST", "/v1/reservations", request, randomUUID());
        if (status !== 201) throw new Error(`reserve: ${status} ${body}`);
        held = (JSON.parse(body) as { id: string }).id;
      } else {
        const { status, body } = await connection.send("DELETE", `/v1/reservations/${held}`);
        // One that was left from an earlier turn may have been fulfilled by a ride meanwhile.
        if (status !== 200 && status !== 409) throw new Error(`cancel: ${status} ${body}`);
        held = undefined;
      }
    };
  });
  return { name: `reserve, cancel, ${connections} conn.`, commandsPerCall: 1, callers, close: closing(all) };
}

/** The least that a durable command can be: a transaction that updates one row, over a pool as the service has one. */
export async function durableRowLoad(connectionString: string, callersAtOnce: number): Promise<Load> {
  const db: Database = openDatabase({ connectionString });
  await db.transaction((tx) => tx.run("create table bench_rows (n integer primary key, value integer not null)"));
  await db.query(statement("bench.rows", "insert into bench_rows select n, 0 from generate_series(0, $1) as n"), [
    callersAtOnce,
  ]);
  const update = statement("bench.update", "update bench_rows set value = value + 1 where n = $1");
  const callers = Array.from({ length: callersAtOnce }, (_, n) => () => db.transaction((tx) => tx.send(update, [n])));
  return { name: `one durable row, ${callersAtOnce} callers`, commandsPerCall: 1, callers, close: () => db.close() };
}

function closing(connections: readonly Connection[]) {
  return () => {
    for (const connection of connections) connection.close();
    return Promise.resolve();
  };
}
