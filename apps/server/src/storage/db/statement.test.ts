import { expect, test } from "vitest";
import { createTestDatabase } from "../../../test/database.ts";
import { openDatabase, type Queryable } from "./database.ts";
import { openReadPool } from "./read-pool.ts";
import { statement } from "./statement.ts";

test("a prepared statement whose result has got another column runs on, in and outside of transactions", async () => {
  const { db, close } = await createTestDatabase();
  const everything = ["a", "b", "c", "d", "e"].map((name) => statement(`test.stale.${name}`, "select * from systems"));
  const pool = openDatabase({ connectionString: db.connectionString, maxConnections: 2 });
  const readPool = openReadPool({ connectionString: db.connectionString, connections: 2 });
  const width = (rows: readonly object[]) => Object.keys(rows[0] ?? {}).length;
  // There are more statements to prepare again than a transaction has attempts.
  const each = async (from: Pick<Queryable, "query">) => {
    const widths: number[] = [];
    for (const one of everything) widths.push(width(await from.query<object>(one)));
    return widths;
  };
  const widths = async () => {
    const pooled = await Promise.all([each(pool), each(pool), pool.transaction(each), pool.transaction(each)]);
    const reads = await Promise.all([0, 1, 2, 3].map(() => readPool.read<object>(everything[0]!, [])));
    return [...new Set([...pooled.flat(), ...reads.map(width)])];
  };
  try {
    const [before = 0, ...others] = await widths();
    expect(others).toEqual([]);
    for (const [index, name] of ["one", "two"].entries()) {
      await db.query(statement("", `alter table systems add column ${name} text`));
      expect(await widths()).toEqual([before + index + 1]);
    }
  } finally {
    await Promise.all([pool.close(), readPool.close()]);
    await close();
  }
});
