import { type PeriodicWork, startPeriodic } from "../../storage/background/periodic.ts";
import type { Database } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import type { ProcessReports } from "../checks/process-reports.ts";
import type { Conditions } from "./conditions.ts";
import { findTime } from "./queries.ts";
import { createServiceClock, MAX_DIFFERENCE_MS, type ServiceClock } from "./service-clock.ts";

/** Between two comparisons of the clocks. Too low: queries the database more often. Too high: a wrong clock is noticed late. */
const COMPARE_INTERVAL_MS = 15_000;
/** Between two checks whether the machine's clock was set, or stood still with the machine. They cost nothing. */
const SET_CHECK_INTERVAL_MS = 1_000;

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

interface FollowOptions {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** What `clock` goes by; where it is not given, the clocks are only compared. */
  readonly serviceClock?: ServiceClock;
  readonly conditions: Conditions;
  readonly reports: ProcessReports;
  /** Called when the service stops. */
  readonly closers: (() => Promise<void>)[];
}

/** Has this process's clock follow the database's from now on. */
export async function followDatabaseClock(db: Database, options: FollowOptions): Promise<void> {
  const monotonic = () => performance.now();
  const clock = options.serviceClock ?? createServiceClock(options.clock, monotonic);
  const watch = watchClock(db, { ...options, clock, monotonic });
  options.closers.push(() => watch.close());
  await watch.runOnce();
}

interface ClockWatchOptions extends Pick<FollowOptions, "conditions" | "reports"> {
  readonly clock: ServiceClock;
  /** Milliseconds of the clock that `clock` goes on by. */
  readonly monotonic: () => number;
}

/** Has a clock follow the database's, and says where the machine's differs from it. */
export function watchClock(db: Database, { clock, monotonic, conditions, reports }: ClockWatchOptions): PeriodicWork {
  const differing = conditions.of("keeping time", { level: "warn", quietMs: Number.POSITIVE_INFINITY });
  const comparison = conditions.of("comparing clocks");
  const compare = async () => {
    const askedAt = monotonic();
    const { at } = oneRow(await findTime(db));
    const differenceMs = clock.follow({ at: at.getTime(), askedAt, answeredAt: monotonic() });
    const detail =
      `the clock of this machine differs from the database's by ${Math.round(differenceMs / 1000)} s: this process goes by ` +
      "the database's, and the times in its log are wrong";
    const fix = "Run chrony or systemd-timesyncd on both machines.";
    const isFine = differenceMs <= MAX_DIFFERENCE_MS;
    reports.set("clock", isFine ? undefined : { status: "warning", detail, fix });
    if (isFine) differing.succeeded();
    else differing.failed(new ClocksDiffer(`${detail}. ${fix}`));
  };
  const comparing = startPeriodic({
    intervalMs: COMPARE_INTERVAL_MS,
    work: () => compare().then(comparison.succeeded, comparison.failed),
    onError: comparison.failed,
    watch: comparison.watch,
  });
  const setCheck = setInterval(() => {
    // It reports its failures itself.
    if (clock.wasSet()) comparing.runOnce().catch(() => undefined);
  }, SET_CHECK_INTERVAL_MS);
  setCheck.unref();
  return {
    runOnce: () => comparing.runOnce(),
    close() {
      clearInterval(setCheck);
      return comparing.close();
    },
  };
}
