import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { arrayOf, columnsOf, columnsOfTable } from "./columns.ts";
import { statement } from "./statement.ts";

const columns = columnsOf<{ id: string; n: number | null }>({ id: arrayOf("text"), n: arrayOf("integer") });

describe("columns", () => {
  test("are listed, assigned and given as rows in one order", () => {
    expect(columns.list()).toBe("id, n");
    expect(columns.list("b")).toBe("b.id, b.n");
    expect(columns.assignments("w")).toBe("id = w.id, n = w.n");
    expect(columns.unnest(3, "w")).toBe("unnest($3::text[], $4::integer[]) as w (id, n)");
    expect(columns.recordset(2, "w")).toBe("json_to_recordset($2::json) as w (id text, n integer)");
    expect(
      columns.arrays([
        { id: "a", n: 1 },
        { id: "b", n: null },
      ]),
    ).toEqual([
      ["a", "b"],
      [1, null],
    ]);
  });

  test("can be chosen, left out and added to", () => {
    expect(columns.only("n").list()).toBe("n");
    expect(columns.without("n").list()).toBe("id");
    expect(columns.and<{ at: Date | null }>({ at: arrayOf("timestamptz") }).unnest(1, "w")).toBe(
      "unnest($1::text[], $2::integer[], $3::timestamptz[]) as w (id, n, at)",
    );
  });

  test("of a table are those that statements write, in the order of the migrations", () => {
    expect(columnsOfTable("regions").names).toEqual(["system_id", "id", "name"]);
    expect(columnsOfTable("bikes").names).not.toContain("json");
  });
});

describe("in PostgreSQL", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.close());

  test("rows come back from either form as they went in", async () => {
    const rows = [
      { id: 'a"\\, {}', n: 1 },
      { id: "b", n: null },
    ];
    const select = (relation: string) => statement("", `select ${columns.list("w")} from ${relation} order by id`);
    expect(await database.db.query(select(columns.unnest(1, "w")), columns.arrays(rows))).toEqual(rows);
    expect(await database.db.query(select(columns.recordset(1, "w")), [JSON.stringify(rows)])).toEqual(rows);
  });
});
