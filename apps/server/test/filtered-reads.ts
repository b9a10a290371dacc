import type { Queryable } from "../src/storage/db/database.ts";
import { createFilteredReads, type FilteredReads } from "../src/storage/lists/read-context.ts";

/** Places for filtered lists as a process has them, on a test's own connections. */
export function filteredReadsOn(db: Queryable): FilteredReads {
  return createFilteredReads({
    run: (work) => work(db),
    primary: db,
    maxRunning: 3,
    monotonic: () => performance.now(),
    onRefused: () => undefined,
  });
}
