import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { oneRow } from "./rows.ts";
import { statement } from "./statement.ts";

let database: TestDatabase;
beforeAll(async () => void (database = await createTestDatabase()));
afterAll(() => database.close());

const read = statement("test.instants", "select $1::timestamptz as at, $1::timestamptz::text as text");

test.each([
  "2026-01-31 12:34:56+00",
  "2026-12-31 23:59:59.9+00",
  "2026-02-28 23:59:59.07+00",
  "2024-02-29 00:00:00.123+00",
  "2026-06-01 00:00:00.123456+00",
  "2026-06-01 12:00:00+05:30",
  "0099-01-01 00:00:00+00",
  "0044-03-15 00:00:00+00 BC",
  "12026-01-01 00:00:00+00",
  "infinity",
])("the instant %s is read as the driver reads it", async (value) => {
  const { at, text } = oneRow(await database.db.query<{ at: unknown; text: string }>(read, [value]));
  // pg types its parsers as `any`.
  const parse: unknown = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ, "text");
  expect(at).toEqual((parse as (value: string) => unknown)(text));
});
