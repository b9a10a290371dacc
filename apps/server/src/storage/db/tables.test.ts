import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestDatabase } from "../../../test/database.ts";
import { renderTableTypes } from "../../../tools/table-types.ts";

// `db:types` runs this test with --update, which writes the file instead of comparing it.
test("the table types that are committed are those of the migrated schema", async () => {
  const { db, close } = await createTestDatabase();
  try {
    const committed = join(import.meta.dirname, "tables.generated.ts");
    const advice = "differs: pnpm --filter @bikeshare/server run db:types";
    await expect(await renderTableTypes(db)).toMatchFileSnapshot(committed, advice);
  } finally {
    await close();
  }
});
