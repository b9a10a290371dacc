import { type Bike, bike, type Ride, ride, type Station, station } from "@bikeshare/contract";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { type RowWriter, rowWriter } from "./rows.ts";
import { slice } from "./walk.ts";

let app: TestApp;
let write: RowWriter;

beforeAll(async () => {
  app = await startTestApp();
  write = rowWriter(app);
  // Changes settings of the session, which must not affect the JSON.
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

/** Draws characters that break careless JSON, SQL or line-based code. Without NUL, which PostgreSQL cannot store. */
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
/** Instants at the limits of years with four digits, and next to leap seconds. */
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

/** Draws values that a schema accepts. A new field of a resource is tested as soon as the schema has it. */
function valuesOf(schema: z.ZodTypeAny): fc.Arbitrary<unknown> {
  if (schema instanceof z.ZodNullable) return fc.option(valuesOf(schema.unwrap() as z.ZodTypeAny), { nil: null });
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape as z.ZodRawShape);
    return fc.record(Object.fromEntries(fields.map(([name, field]) => [name, valuesOf(field)])));
  }
  if (schema instanceof z.ZodArray) return fc.array(valuesOf(schema.element as z.ZodTypeAny), { maxLength: 3 });
  if (schema instanceof z.ZodEnum) return fc.constantFrom(...(schema.options as string[]));
  if (schema instanceof z.ZodBoolean) return fc.boolean();
  if (schema instanceof z.ZodNumber) return schema.isInt ? integer : degrees(schema.maxValue!);
  if (schema instanceof z.ZodString) {
    if (schema.isDatetime) return instant;
    return schema.minLength === null ? text : id;
  }
  throw new Error(`valuesOf knows no values of ${schema.constructor.name}`);
}

const rowsOf = <Row>(schema: z.ZodType<Row>) => valuesOf(schema) as fc.Arbitrary<Row>;

// Satisfies a constraint of the table that the schema does not express.
const anyStation = rowsOf<Station>(station).map((row) =>
  row.status === "offline" || row.status === "removed" ? row : { ...row, offline_reason: null },
);

const anyBike = rowsOf<Bike>(bike).map((row) =>
  row.vehicle_state === "on_trip" ? { ...row, station_id: null, lat: null, lon: null } : row,
);

const anyRide = fc.tuple(rowsOf<Ride>(ride), instant).map(([row, other]) => {
  const [first, last] = [row.started_at, other].sort() as [string, string];
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
        // Makes ids and bikes unique, because two rows must not share one.
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
      { numRuns: randomRuns(25) },
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
      { numRuns: randomRuns(8) },
    );
  });
});

/** Returns the function that writes rows of a list. */
function writerOf(list: "stations" | "bikes" | "rides") {
  return (rows: readonly unknown[]) => (write[list] as (items: readonly unknown[]) => Promise<void>)(rows);
}
