import { expect, test } from "vitest";
import { createTestDatabase } from "../../test/database.ts";
import { migrate } from "./migrate.ts";

test("migrating again, also several at once, applies nothing and fails nowhere", async () => {
  const { db, close } = await createTestDatabase();
  try {
    const applied = await Promise.all([migrate(db), migrate(db), migrate(db)]);
    expect(applied).toEqual([[], [], []]);
  } finally {
    await close();
  }
});
