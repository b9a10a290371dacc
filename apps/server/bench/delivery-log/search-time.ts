import { median } from "@bikeshare/load";
import type { Database } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { findPageStatement, findSearchIndex, updateSearchSettings } from "../../src/webhooks/log/delivery-queries.ts";
import type { DeliverySearch } from "../../src/webhooks/log/search-sql-fragments.ts";

const REPETITIONS = 5;
/** The rows of a page, and one more that shows whether another page follows. */
const LIMIT = 51;

interface Explained {
  readonly "QUERY PLAN": readonly { readonly "Execution Time": number }[];
}

/**
 * Returns the milliseconds that PostgreSQL needs to find a page. Planning is not included, because it happens only once for
 * each connection.
 */
export async function searchMilliseconds(db: Database, search: DeliverySearch): Promise<number> {
  const times: number[] = [];
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    await db.transaction(async (tx) => {
      await updateSearchSettings(tx);
      const { page, values } = findPageStatement(await findSearchIndex(tx, search), search, LIMIT);
      const explain = statement("", `explain (analyze, timing off, format json) ${page.text}`);
      const [row] = await tx.query<Explained>(explain, values);
      times.push(row?.["QUERY PLAN"][0]?.["Execution Time"] ?? Number.NaN);
    });
  }
  return median(times);
}
