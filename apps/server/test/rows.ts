import { type Bike, bike, type Me, type Ride, ride, type Station, station, withNulls } from "@bikeshare/contract";
import { countRides, countRows } from "../src/city/counts/service.ts";
import type { Transaction } from "../src/storage/db/database.ts";
import { statement } from "../src/storage/db/statement.ts";
import type { TestApp } from "./app.ts";

/** An arbitrary instant on which no test depends. */
const SOME_TIME = "2026-05-01T08:00:00.000Z";

/** Returns a row of a station with defaults for missing fields. The API sends rows unchanged. */
export function stationRow(fields: Partial<Station> & { readonly id: string }): Station {
  return withNulls(station, {
    name: `Station ${fields.id}`,
    lat: 47.37,
    lon: 8.54,
    capacity: 20,
    is_virtual_station: false,
    is_installed: true,
    is_renting: true,
    is_returning: true,
    num_bikes_available: 3,
    num_bikes_reserved: 0,
    num_docks_available: 17,
    vehicle_types_available: [{ vehicle_type_id: "classic", count: 3 }],
    status: "online",
    updated_at: SOME_TIME,
    ...fields,
  });
}

export function bikeRow(fields: Partial<Bike> & { readonly id: string }): Bike {
  return withNulls(bike, {
    vehicle_type_id: "classic",
    vehicle_state: "available",
    lat: 47.37,
    lon: 8.54,
    updated_at: SOME_TIME,
    ...fields,
  });
}

/** Returns a row of a ride. Default: it ended after ten minutes. */
export function rideRow(fields: Partial<Ride> & { readonly id: string; readonly started_at: string }): Ride {
  return withNulls(ride, {
    bike_id: `bike of ${fields.id}`,
    status: "completed",
    ended_at: new Date(Date.parse(fields.started_at) + 600_000).toISOString(),
    duration_seconds: 600,
    is_countable: true,
    updated_at: SOME_TIME,
    ...fields,
  });
}

type List = "stations" | "bikes" | "rides";
type Item = Readonly<Record<string, unknown>>;

/**
 * Writes and deletes rows and their counts in one transaction, as the services do. Each function waits until the app has
 * been notified, so that the app's next response shows the change.
 */
export interface RowWriter {
  stations(rows: readonly Station[]): Promise<void>;
  bikes(rows: readonly Bike[]): Promise<void>;
  rides(rows: readonly Ride[]): Promise<void>;
  remove(list: List, ids: readonly string[]): Promise<void>;
  /** Changes columns of one row. */
  update(list: List, id: string, fields: Item): Promise<void>;
}

/** @param slot chooses the slot of the counts, so that tests spread over several */
export function rowWriter(app: TestApp, slot: () => number = () => 0): RowWriter {
  const { db, systemId } = app;
  const untilAppNotified = createNotificationBarrier(app);
  const change = async (list: List, work: (tx: Transaction) => Promise<void>) => {
    await db.transaction(async (tx) => {
      await work(tx);
      await tx.query(notify, [list, systemId]);
    });
    await untilAppNotified();
  };
  const insert = (list: Exclude<List, "rides">, rows: readonly Item[], own: Item) =>
    change(list, async (tx) => {
      await insertRows(
        tx,
        list,
        rows.map((row) => ({ ...row, system_id: systemId, source: "test", ...own })),
      );
      countRows(tx, systemId, list, slot(), rows.length);
    });
  return {
    // `known_since` is a fixed time instead of the database's time.
    stations: (rows) =>
      insert("stations", rows, {
        ...{ counters: "mirrored", absent_snapshots: 0, was_installed: true, known_since: SOME_TIME },
      }),
    bikes: (rows) => insert("bikes", rows, {}),
    rides: (rows) =>
      change("rides", async (tx) => {
        await insertRows(
          tx,
          "rides",
          rows.map((row) => ({ ...row, system_id: systemId, source: "test" })),
        );
        countRides(tx, systemId, slot(), { inserted: rows.map((row) => new Date(row.started_at)) });
      }),
    remove: (list, ids) => change(list, (tx) => removeRows(tx, systemId, list, ids, slot())),
    update: (list, id, fields) =>
      change(list, async (tx) => {
        const columns = Object.keys(fields).map((name) => `${name} = new.${name}`);
        const text = `update ${list} as old set ${columns.join(", ")} from json_populate_record(null::${list}, $3::json) as new
                      where old.system_id = $1 and old.id = $2`;
        await tx.query(statement("", text), [systemId, id, JSON.stringify(fields)]);
      }),
  };
}

async function removeRows(
  tx: Transaction,
  systemId: string,
  list: List,
  ids: readonly string[],
  slot: number,
): Promise<void> {
  const text = `delete from ${list} where system_id = $1 and id = any($2) returning *`;
  const deleted = await tx.query<{ started_at: Date }>(statement("", text), [systemId, ids]);
  if (list !== "rides") return countRows(tx, systemId, list, slot, -deleted.length);
  const starts = deleted.map((row) => row.started_at);
  countRides(tx, systemId, slot, { deleted: starts });
}

const notify = statement("test.notify", "select pg_notify($1, $2)");
const renamePartner = statement(
  "test.renamePartner",
  "update partners set name = greatest(name, $3) where system_id = $1 and id = $2",
);

/**
 * Makes a function that resolves when the app has processed every notification sent before. Notifications arrive in
 * order, and the app caches a partner's name until it is notified of a change: once the app answers the new name, it has
 * processed all earlier notifications.
 */
function createNotificationBarrier({ db, get, systemId, partnerId }: TestApp): () => Promise<void> {
  let sent = 0;
  return async () => {
    const name = `name ${String(++sent).padStart(9, "0")}`;
    await db.query(renamePartner, [systemId, partnerId, name]);
    await db.query(notify, ["keys", systemId]);
    const isHeard = async () => ((await (await get("/v1/me")).json()) as Me).partner.name >= name;
    for (let asked = 0; !(await isHeard()); asked++) {
      // A lost connection for notifications is back after half a second, some hundred requests.
      if (asked === 10_000) throw new Error("the app did not hear of a change");
    }
  };
}

async function insertRows(tx: Transaction, table: List, rows: readonly Item[]): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first).join(", ");
  const text = `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1::json)`;
  await tx.query(statement("", text), [JSON.stringify(rows)]);
}
