import { expect, it } from "vitest";
import { createTestDatabase } from "../../../test/database.ts";
import { openDatabase, ping } from "./database.ts";

it("who gets a free connection at once is not counted as waiting, and who gets none is", async () => {
  const { db: shared, close } = await createTestDatabase();
  const db = openDatabase({ connectionString: shared.connectionString, maxConnections: 1 });
  try {
    await ping(db);
    const first = ping(db);
    expect(db.usage()).toMatchObject({ waiting: 0 });
    const second = ping(db);
    expect(db.usage()).toMatchObject({ waiting: 1 });
    await Promise.all([first, second]);
    expect(db.usage()).toEqual({ inUse: 0, idle: 1, waiting: 0 });
  } finally {
    await db.close();
    await close();
  }
});
