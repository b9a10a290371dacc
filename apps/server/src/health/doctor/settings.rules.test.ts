import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { judgeSettings, judgeUnusedIndex } from "./doctor.rules.ts";
import { findSettings, listUnusedIndexes, type ServerSettings } from "./queries.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.close());

const now = Date.parse("2026-06-01T12:00:00Z");
const well: ServerSettings = {
  version: 150_018,
  now: new Date(now),
  fsync: true,
  full_page_writes: true,
  autovacuum: true,
  synchronous_commit: "on",
  max_connections: 100,
  superuser_reserved_connections: 3,
  is_replica: false,
};

const query = <Row>(text: string) => database.db.query<Row>(statement("", text));

describe("doctor finds in PostgreSQL", () => {
  it("nothing where its settings are those that the service needs", () => {
    expect(judgeSettings(well, now).filter(({ status }) => status !== "ok")).toEqual([]);
  });

  it.each([
    ["failure database", { version: 140_011 }],
    ["failure database writes", { is_replica: true }],
    ["failure durability", { fsync: false }],
    ["failure durability", { full_page_writes: false }],
    ["failure durability", { synchronous_commit: "off" }],
    ["failure autovacuum", { autovacuum: false }],
    ["warning connections", { max_connections: 32 }],
    ["warning clock", { now: new Date(now - 2_001) }],
    ["warning clock", { now: new Date(now + 3_600_000) }],
  ] as const)("a %s: %j; what it names to set is a setting that takes the value", async (expected, change) => {
    const found = judgeSettings({ ...well, ...change }, now).filter(({ status }) => status !== "ok");
    expect(found.map(({ status, check }) => `${status} ${check}`)).toEqual([expected]);
    const advised = [...(found[0]?.fix ?? "").matchAll(/alter system set (\w+) = (\w+)/g)];
    for (const [, name = "", value = ""] of advised) {
      const [setting] = await query<{ vartype: string; values: string[] | null; min: string; max: string }>(
        `select vartype, enumvals as values, min_val as min, max_val as max from pg_settings where name = '${name}'`,
      );
      const isNumber = setting?.vartype === "integer";
      if (isNumber)
        expect(Number(value)).toSatisfy((n: number) => n >= Number(setting.min) && n <= Number(setting.max));
      else expect(setting?.values ?? ["on", "off"], name).toContain(value);
      expect(setting, name).toBeDefined();
    }
    expect(advised.length > 0).toBe(["durability", "autovacuum", "connections"].includes(found[0]?.check ?? ""));
  });

  it("the settings as they are", async () => {
    const { max_connections: connections, version } = await findSettings(database.db);
    const [shown] = await query<{ connections: string; version: string }>(
      "select current_setting('max_connections') as connections, current_setting('server_version_num') as version",
    );
    expect([String(connections), String(version)]).toEqual([shown?.connections, shown?.version]);
  });

  it("an index that nobody has used for a week, and not before; its advice drops it", async () => {
    await query("create table numbers as select n from generate_series(1, 20000) n");
    await query("create index made_by_hand on numbers (n)");
    const listed = async () => (await listUnusedIndexes(database.db, 100_000))[0];
    await query("update migrations set applied_at = now() - interval '6 days'");
    expect(await listed()).toBeUndefined();
    await query("update migrations set applied_at = now() - interval '8 days'");
    const found = await listed();
    if (found === undefined) throw new Error("not listed");
    expect(found.index).toBe("made_by_hand");
    const [, drop = ""] = judgeUnusedIndex(found).fix?.split(": ") ?? [];
    await query(drop);
    expect(await query("select from pg_indexes where indexname = 'made_by_hand'")).toEqual([]);
  });
});
