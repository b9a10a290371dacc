import type { Conditions } from "./lasting-conditions.ts";

/** Milliseconds between two looks: how exact a condition's end is. */
const LOOK_MS = 5_000;

/**
 * Looks after the conditions for as long as the process runs.
 * @param askDatabase fails while the database cannot be reached. A process that nobody asks for anything would else not
 *   notice that it is back, or take silence for its return.
 */
export function watchConditions(
  conditions: Conditions,
  askDatabase: () => Promise<void>,
): { readonly close: () => Promise<void> } {
  const database = conditions.of("asking the database");
  let asking: Promise<void> | undefined;
  const timer = setInterval(() => {
    if (conditions.isLasting("database_unreachable")) {
      asking ??= askDatabase()
        .then(database.succeeded, database.failed)
        .finally(() => (asking = undefined));
    }
    conditions.look();
  }, LOOK_MS);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await asking;
    },
  };
}
