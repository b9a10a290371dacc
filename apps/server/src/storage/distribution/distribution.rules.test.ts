import { describe, expect, test } from "vitest";
import { missingFor, tablesOfKind, tableSteps } from "./distribution.rules.ts";
import type { ServerState } from "./queries.ts";
import { declaredKinds, type TableKind } from "./table-kinds.ts";

const ready: ServerState = {
  version: 17,
  is_available: true,
  is_loaded: true,
  is_created: false,
  is_superuser: true,
  role: "bikeshare",
  sessions: 0,
};

describe("what is missing before a database can be distributed", () => {
  test("is nothing where the extension may be created, or is there", () => {
    expect(missingFor(ready)).toEqual([]);
    expect(missingFor({ ...ready, is_created: true, is_superuser: false })).toEqual([]);
  });

  test.each([
    [
      "the package, for this PostgreSQL",
      { is_available: false, is_loaded: false },
      [/postgresql-17-citus/, /shared_preload_libraries .* restart/],
    ],
    ["the setting and a restart", { is_loaded: false }, [/shared_preload_libraries/]],
    ["another name of the role", { role: "citus" }, [/schema citus, .*alter role/]],
    ["somebody who may create it", { is_superuser: false }, [/`create extension citus` .* superuser/]],
    ["that the service stops", { is_created: true, sessions: 3 }, [/^3 connections use .* stop the service/]],
  ] as const)("is named: %s", (_, state, expected) => {
    const missing = missingFor({ ...ready, ...state });
    expect(missing).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(missing[index]).toMatch(pattern);
  });
});

describe("the tables that are distributed", () => {
  const kinds = declaredKinds(
    [
      "-- reference. One.\ncreate table partners (",
      "-- system. Two.\ncreate table rides (",
      "-- system. A part of them.\ncreate table rides_default partition of rides default;",
      "-- reference. Three.\ncreate table keys (",
    ].join("\n"),
  );

  test("are those of the migrations in their order, references first, without partitions", () => {
    expect(tableSteps(kinds, new Map())).toEqual({ referenceTables: ["partners", "keys"], systemTables: ["rides"] });
    expect(tablesOfKind(kinds, "system")).toEqual(["rides"]);
  });

  test("are, after an interruption, those that are left", () => {
    const distributed = new Map<string, TableKind>([
      ["partners", "reference"],
      ["rides_default", "system"],
    ]);
    expect(tableSteps(kinds, distributed)).toEqual({ referenceTables: ["keys"], systemTables: ["rides"] });
  });

  test("are refused when one is distributed as another kind", () => {
    expect(() => tableSteps(kinds, new Map([["keys", "system"]]))).toThrow("undistribute_table('keys')");
  });
});
