import { type PeriodicWork, startPeriodic } from "../../storage/background/periodic.ts";
import type { Database } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import type { ProcessReports } from "../checks/stored-checks.ts";
import type { Conditions } from "./conditions.ts";
import { findTime } from "./queries.ts";

/**
 * The clock that all processes of a deployment share: the machine's while it agrees with the database's, otherwise the
 * database's. So reservations and keys end, and webhooks are sent, at the right time, even if a machine's clock is wrong or
 * is set while the service runs. Between two comparisons, the time advances with a monotonic clock.
 */
export interface ServiceClock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /**
   * Adjusts this clock to a reading of the database's clock.
   * @returns by how many milliseconds, at least, the machine's clock differs from the database's
   */
  follow(read: DatabaseTime): number;
  /** Whether somebody has set the machine's clock since the latest `follow`. */
  wasSet(): boolean;
}

/** A reading of the database's clock, and the instants of the monotonic clock between which it was taken. */
interface DatabaseTime {
  readonly at: number;
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** The largest difference that is ignored: NTP leaves less between two machines, and less affects nothing in the service. */
export const MAX_DIFFERENCE_MS = 2_000;

/**
 * Creates a clock that goes by the machine's until `follow` finds that it differs from the database's.
 * @param machine the machine's clock, in milliseconds since 1970
 * @param monotonic milliseconds of a clock that nobody sets
 */
export function createServiceClock(machine: () => number, monotonic: () => number): ServiceClock {
  const machineOffset = () => machine() - monotonic();
  let followed = machineOffset();
  let offset = followed;
  return {
    now: () => Math.floor(monotonic() + offset),
    follow({ at, askedAt, answeredAt }) {
      followed = machineOffset();
      // The database read its clock between `askedAt` and `answeredAt`: the right offset is between these two.
      const [earliest, latest] = [at - answeredAt, at - askedAt];
      const differenceMs = Math.max(0, earliest - followed, followed - latest);
      // Changes the offset by the least that agrees with the database, so that the time hardly jumps at a comparison.
      if (differenceMs > MAX_DIFFERENCE_MS) offset = Math.min(Math.max(offset, earliest), latest);
      else offset = followed;
      return differenceMs;
    },
    wasSet: () => Math.abs(machineOffset() - followed) > MAX_DIFFERENCE_MS,
  };
}

/**
 * Milliseconds between two comparisons of the clocks. Too low: queries the database more often. Too high: a wrong clock is
 * noticed late.
 */
const COMPARE_INTERVAL_MS = 15_000;
/**
 * Milliseconds between two checks whether the machine's clock was set, or the machine was suspended. A check costs nothing.
 */
const SET_CHECK_INTERVAL_MS = 1_000;

/** The error of clocks that differ. The log gets a line at once, one each minute, and one when the clocks agree again. */
class ClocksDiffer extends Error {
  override readonly name = "ClocksDiffer";
  readonly condition = "clocks_differ";
  readonly sentences;

  constructor(message: string) {
    super(message);
    this.sentences = { begins: message, lasts: message, ends: "the clock agrees with the database's again" };
  }
}

interface FollowOptions {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The clock that `clock` reads; left out: the clocks are only compared. */
  readonly serviceClock?: ServiceClock;
  readonly conditions: Conditions;
  readonly reports: ProcessReports;
  /** Called when the service stops. */
  readonly closers: (() => Promise<void>)[];
}

/** Makes this process's clock follow the database's from now on. */
export async function followDatabaseClock(db: Database, options: FollowOptions): Promise<void> {
  const monotonic = () => performance.now();
  const clock = options.serviceClock ?? createServiceClock(options.clock, monotonic);
  const watch = watchClock(db, { ...options, clock, monotonic });
  options.closers.push(() => watch.close());
  await watch.runOnce();
}

interface ClockWatchOptions extends Pick<FollowOptions, "conditions" | "reports"> {
  readonly clock: ServiceClock;
  /** Milliseconds of the monotonic clock with which `clock` advances. */
  readonly monotonic: () => number;
}

/**
 * Compares a clock with the database's once, and adjusts it.
 * @param monotonic milliseconds of the monotonic clock with which `clock` advances
 * @returns what is wrong with the machine's clock; undefined: the two agree
 */
export async function compareClock(
  db: Database,
  clock: ServiceClock,
  monotonic: () => number,
): Promise<{ readonly detail: string; readonly fix: string } | undefined> {
  const askedAt = monotonic();
  const { at } = oneRow(await findTime(db));
  const differenceMs = clock.follow({ at: at.getTime(), askedAt, answeredAt: monotonic() });
  if (differenceMs <= MAX_DIFFERENCE_MS) return undefined;
  const detail =
    `the clock of this machine differs from the database's by ${Math.round(differenceMs / 1000)} s: this process goes by ` +
    "the database's, and the times in its log are wrong";
  return { detail, fix: "Run chrony or systemd-timesyncd on both machines." };
}

/** Makes a clock follow the database's, and reports while the machine's clock differs. */
export function watchClock(db: Database, { clock, monotonic, conditions, reports }: ClockWatchOptions): PeriodicWork {
  const differing = conditions.of("keeping time", { level: "warn", quietMs: Number.POSITIVE_INFINITY });
  const comparison = conditions.of("comparing clocks");
  const compare = async () => {
    const difference = await compareClock(db, clock, monotonic);
    reports.set("clock", difference && { status: "warning", ...difference });
    if (difference === undefined) differing.succeeded();
    else differing.failed(new ClocksDiffer(`${difference.detail}. ${difference.fix}`));
  };
  const comparing = startPeriodic({
    intervalMs: COMPARE_INTERVAL_MS,
    work: () => compare().then(comparison.succeeded, comparison.failed),
    onError: comparison.failed,
    watch: comparison.watch,
  });
  const setCheck = setInterval(() => {
    // The comparison reports its failures itself.
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
