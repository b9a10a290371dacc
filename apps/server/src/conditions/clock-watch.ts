import type { PeriodicWork } from "../background/periodic.ts";
import type { Database } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import type { Concerns } from "./concerns.ts";
import type { Conditions } from "./conditions.ts";
import { checkPeriodically } from "./periodic-check.ts";
import { findTime } from "./queries.ts";

/** A clock that differs by more lets keys and reservations expire early or late, and webhooks wait. */
const MAX_DIFFERENCE_MS = 2_000;

/** For the log: a line at once, one a minute, and one when the clocks agree again. */
class ClocksDiffer extends Error {
  override readonly name = "ClocksDiffer";
  readonly condition = "clocks_differ";
  readonly sentences;

  constructor(said: string) {
    super(said);
    this.sentences = { begins: said, lasts: said, ends: "the clock agrees with the database's again" };
  }
}

/**
 * Compares this process's clock with the database's. What is written is decided by the clock of the process that writes
 * it: when holds and keys expire, and when webhooks are due. Leases go by the database's.
 */
export function watchClock(
  db: Database,
  options: { readonly clock: () => number; readonly conditions: Conditions; readonly concerns: Concerns },
): PeriodicWork {
  const { clock, conditions, concerns } = options;
  const differing = conditions.of("keeping time", { level: "warn", quietMs: Number.POSITIVE_INFINITY });
  return checkPeriodically(conditions.of("comparing clocks"), async () => {
    const before = clock();
    const { at } = oneRow(await findTime(db));
    const after = clock();
    // The database read its clock at some time between: what it could be ahead or behind by, at least.
    const differenceMs = Math.max(0, before - at.getTime(), at.getTime() - after);
    const said =
      `the clock of this process differs from the database's by ${Math.round(differenceMs / 1000)} s: keys and ` +
      "reservations expire early or late, and webhooks wait. Run chrony or systemd-timesyncd on both machines";
    const isFine = differenceMs <= MAX_DIFFERENCE_MS;
    concerns.set("clock", isFine ? undefined : said);
    if (isFine) differing.succeeded();
    else differing.failed(new ClocksDiffer(said));
  });
}
