import { anyText } from "@bikeshare/test-kit/text";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import type { ColumnType } from "../../storage/db/columns.ts";
import { statement } from "../../storage/db/statement.ts";
import { bigints, booleans, byteas, dates, integers, reals, smallints, texts, timestamps } from "./binary-format.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.close());

const time = {
  min: new Date("1970-01-01T00:00:00.000Z"),
  max: new Date("2284-12-31T23:59:59.999Z"),
  noInvalidDate: true,
};
const text = anyText().filter((value) => !value.includes("\u0000"));

/** Sends an array to PostgreSQL and reads its elements back. */
async function send<Value>({ type, encode }: ColumnType<Value>, values: readonly Value[]): Promise<unknown[]> {
  const echo = statement(
    "",
    `select element from unnest($1::${type}[]) with ordinality as sent (element, n) order by n`,
  );
  const rows = await database.db.query<{ element: unknown }>(echo, [encode(values)]);
  return rows.map(({ element }) => element);
}

function arrivesAsSent<Value>(of: ColumnType<Value | null>, values: fc.Arbitrary<Value>): Promise<void> {
  return fc.assert(
    fc.asyncProperty(fc.array(fc.option(values)), async (array) => {
      expect(await send(of, array)).toEqual(array);
    }),
    { seed: 1, numRuns: 50 },
  );
}

test.each([
  ["texts, whatever is in them", () => arrivesAsSent(texts, text)],
  [
    "bytes",
    () =>
      arrivesAsSent(
        byteas,
        fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      ),
  ],
  ["truth values", () => arrivesAsSent(booleans, fc.boolean())],
  ["whole numbers of 16 bits", () => arrivesAsSent(smallints, fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }))],
  ["whole numbers of 32 bits", () => arrivesAsSent(integers, fc.integer())],
  ["whole numbers as far as doubles hold them", () => arrivesAsSent(bigints, fc.maxSafeInteger())],
  [
    "fractions of 32 bits",
    () =>
      arrivesAsSent(
        reals,
        fc.integer({ min: -8_192, max: 8_192 }).map((eighths) => eighths / 8),
      ),
  ],
  [
    "days",
    () =>
      arrivesAsSent(
        dates,
        fc.date(time).map((day) => day.toISOString().slice(0, 10)),
      ),
  ],
  ["instants, to the millisecond", () => arrivesAsSent(timestamps, fc.date(time))],
])("%s arrive as they were sent, nulls among them", (_what, holds) => holds());
