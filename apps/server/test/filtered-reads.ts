import type { Queryable } from "../src/storage/db/database.ts";
import { createFilteredReads, type FilteredReads } from "../src/storage/lists/read-context.ts";

/** Creates the queue of filtered reads that each process has, on a test's connections. */
export function filteredReadsOn(db: Queryable): FilteredReads {
  return createFilteredReads({
    run: (work) => work(db),
    primary: db,
    maxRunning: 3,
    monotonic: () => performance.now(),
    onRefused: () => undefined,
  });
}
