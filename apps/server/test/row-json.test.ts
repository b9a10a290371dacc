import { type Bike, bike, type Ride, ride, type Station, station } from "@bikeshare/contract";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { z } from "zod";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { type RowWriter, rowWriter } from "./rows.ts";
import { slice } from "./walk.ts";

let app: TestApp;
let write: RowWriter;

beforeAll(async () => {
  app = await startTestApp();
  write = rowWriter(app);
  // Nothing of the session may show in the JSON.
  await app.db.query(
    statement(
      "",
      `do $$ begin execute format('alter database %I set datestyle to ''German, DMY''', current_database());
       execute format('alter database %I set extra_float_digits to 0', current_database()); end $$`,
    ),
  );
});

beforeEach(async () => {
  for (const list of ["stations", "bikes", "rides"] as const) {
    const rows = await app.db.query<{ id: string }>(statement("", `select id from ${list}`));
    if (rows.length > 0)
      await write.remove(
        list,
        rows.map(({ id }) => id),
      );
  }
});

afterAll(() => app.close());

/** Characters that a careless writer of JSON, SQL or rows by line breaks, in any mixture; PostgreSQL keeps no NUL. */
const nasty = fc.constantFrom(
  '"',
  "\\",
  "\n",
  "\r",
  "\r\n",
  "\t",
  "\b",
  "\f",
  "\x01",
  "\x1b",
  "\x7f",
  "\x85",
  "\u2028",
  "\u2029",
  "\ufeff",
  "é",
  "日",
  "😀",
  "e\u0301",
  "\u202e",
  "'",
  ",\n",
  "},{",
  "</script>",
  "${a}",
  "$1",
  "%s",
  " ",
);
const text = fc.oneof(
  fc.string({ unit: nasty, maxLength: 12 }),
  fc.string({ unit: "grapheme", maxLength: 12 }).map((value) => value.replaceAll("\0", "")),
);
const id = text.map((value) => (value === "" ? "id" : value));
const integer = fc.oneof(fc.constantFrom(0, 1, 2_147_483_647), fc.nat());
/** The ends of what four digits of a year can say, and leap seconds' neighbours. */
const instants = [
  "0001-01-01T00:00:00.000Z",
  "1969-12-31T23:59:59.999Z",
  "1970-01-01T00:00:00.000Z",
  "2024-02-29T23:59:59.999Z",
  "2026-03-29T01:30:00.001Z",
  "9999-12-31T23:59:59.999Z",
];
const instant = fc.oneof(
  fc.constantFrom(...instants),
  fc
    .date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true })
    .map((date) => date.toISOString()),
);
const degrees = (most: number) =>
  fc
    .oneof(
      fc.constantFrom(0, most, -most, 1e-7, -1e-7, 5e-324, 47.3768866, 0.1 + 0.2, 1 / 3),
      fc.double({ min: -most, max: most, noNaN: true }),
    )
    .map((value) => value + 0);
const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });

const anyStation: fc.Arbitrary<Station> = fc
  .record({
    id,
    name: text,
    short_name: orNull(text),
    lat: degrees(90),
    lon: degrees(180),
    address: orNull(text),
    region_id: orNull(id),
    capacity: orNull(integer),
    is_virtual_station: fc.boolean(),
    is_installed: fc.boolean(),
    is_renting: fc.boolean(),
    is_returning: fc.boolean(),
    num_bikes_available: integer,
    num_bikes_reserved: integer,
    num_bikes_disabled: orNull(integer),
    num_docks_available: orNull(integer),
    num_docks_disabled: orNull(integer),
    vehicle_types_available: fc.array(fc.record({ vehicle_type_id: text, count: integer }), { maxLength: 3 }),
    status: fc.constantFrom("planned", "online", "offline", "removed"),
    offline_reason: orNull(fc.constantFrom("flags", "operator", "removed_from_source", "stale")),
    last_reported: orNull(instant),
    updated_at: instant,
  })
  .map((row) => (row.status === "offline" || row.status === "removed" ? row : { ...row, offline_reason: null }));

const anyBike: fc.Arbitrary<Bike> = fc
  .record({
    id,
    number: orNull(text),
    vehicle_type_id: orNull(text),
    vehicle_state: fc.constantFrom(...bike.shape.vehicle_state.options),
    station_id: orNull(id),
    lat: orNull(degrees(90)),
    lon: orNull(degrees(180)),
    current_range_meters: orNull(integer),
    last_reported: orNull(instant),
    updated_at: instant,
  })
  .map((row) => (row.vehicle_state === "on_trip" ? { ...row, station_id: null, lat: null, lon: null } : row));

const anyRide: fc.Arbitrary<Ride> = fc
  .record({
    id,
    bike_id: id,
    status: fc.constantFrom("started", "completed", "cancelled"),
    start_station_id: orNull(id),
    end_station_id: orNull(id),
    started_at: instant,
    ended_at: instant,
    duration_seconds: orNull(integer),
    distance_meters: orNull(integer),
    vehicle_type_id: orNull(text),
    rider_category: orNull(fc.constantFrom("member", "casual")),
    end_reason: orNull(fc.constantFrom("returned", "free_floating", "operator", "timeout", "cancelled")),
    is_countable: orNull(fc.boolean()),
    updated_at: instant,
  })
  .map((row) => {
    const [first, last] = [row.started_at, row.ended_at].sort() as [string, string];
    return { ...row, started_at: first, ended_at: row.status === "started" ? null : last };
  });

const lists = [
  { list: "stations", any: anyStation, schema: station },
  { list: "bikes", any: anyBike, schema: bike },
  { list: "rides", any: anyRide, schema: ride },
] as const;

describe.each(lists)("the JSON of $list", ({ list, any, schema }) => {
  type Row = { readonly id: string };
  const fields = Object.keys((schema as z.ZodObject<z.ZodRawShape>).shape);
  const rows = any as fc.Arbitrary<Row>;
  const insert = writerOf(list);

  async function expectJson(row: Row): Promise<void> {
    const [kept] = await app.db.query<{ json: string }>(statement("", `select json from ${list} where id = $1`), [
      row.id,
    ]);
    const json = kept!.json;
    expect(json).not.toContain("\n");
    expect(JSON.parse(json)).toEqual(row);
    expect(Object.keys(JSON.parse(json) as object)).toEqual(fields);
    expect((schema as z.ZodTypeAny).safeParse(JSON.parse(json)).error).toBeUndefined();
  }

  it("is exactly the row, after its insertion and after any change", async () => {
    let made = 0;
    await fc.assert(
      fc.asyncProperty(rows, rows, async (first, second) => {
        // Distinct ids and bikes: two rows may not share one.
        const own = made++;
        const unique = (row: Row) => ({
          ...row,
          id: `${own} ${first.id}`,
          ...("bike_id" in row ? { bike_id: `${own} ${String(row.bike_id)}` } : {}),
        });
        await insert([unique(first)]);
        await expectJson(unique(first));
        const { id: kept, ...changes } = unique(second);
        await write.update(list, kept, changes);
        await expectJson({ id: kept, ...changes });
      }),
      { numRuns: 60 },
    );
  });

  it("stays whole in a page of many, whatever the rows hold", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(rows, { selector: (row) => row.id, minLength: 5, maxLength: 30 }),
        fc.integer({ min: 1, max: 31 }),
        async (made, limit) => {
          const items = made.map((row, index) => ("bike_id" in row ? { ...row, bike_id: `${index}` } : row));
          await insert(items);
          const page = await slice(app, `/v1/${list}?limit=${limit}`);
          expect(page.data).toHaveLength(Math.min(limit, items.length));
          for (const item of page.data) expect(item).toEqual(items.find((row) => row.id === item.id));
          expect(page.next_cursor === undefined).toBe(limit >= items.length);
          await write.remove(
            list,
            items.map((row) => row.id),
          );
        },
      ),
      { numRuns: 20 },
    );
  });
});

/** The writer of one list, whichever it is. */
function writerOf(list: "stations" | "bikes" | "rides") {
  return (rows: readonly unknown[]) => (write[list] as (items: readonly unknown[]) => Promise<void>)(rows);
}
