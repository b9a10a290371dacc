import { setTimeout as sleep } from "node:timers/promises";
import type { Queryable } from "../db/database.ts";
import { codeOf, isRetryable, isUnavailable, sqlState } from "../db/errors.ts";
import { deleteFailures, deleteRun, findUnitStates, insertCrashes, insertFailure, insertRun } from "./queries.ts";
import type { WorkName } from "./work.rules.ts";

/*
 * Does background work on units, such as overdue reservations, so that a bad unit does not stop the others: `sweepUnits` for
 * batches, `runGuarded` for one unit. A unit that fails is tried again later, alone. A unit may also end the process, so a
 * run that could (`canCrash`, `runGuarded`) is recorded before it begins, and the record is deleted when it ends. A record
 * that is older than `RUN_TIMEOUT_MS` counts as that of a process that ended: a crash is counted for the run's units.
 */

/** Background work on units of a system. */
export interface UnitWork {
  readonly db: Queryable;
  readonly work: WorkName;
  /**
   * Whether this process reads the units' data, so that bad data could end the process. If so, each run is recorded before
   * it begins. Work that the database does by itself needs no record.
   */
  readonly canCrash: boolean;
  /** Returns the next units to work on, at most `limit`, without the units in `apart`. */
  readonly list: (systemId: string, limit: number, apart: readonly string[]) => Promise<readonly string[]>;
  /** Works on units in one transaction. @returns on how many it worked */
  readonly run: (systemId: string, units: readonly string[]) => Promise<number>;
  /** A unit failed or was set aside. The work on other units goes on. */
  readonly onError: (error: unknown, systemId: string) => void;
}

/** The result of processing a batch. */
export interface Swept {
  /** On how many units it worked. */
  readonly swept: number;
  /** Whether more units may be left. */
  readonly isMore: boolean;
}

/**
 * A run that has not ended within this time counts as a crash. Longer than a run's statements may take together. Too high:
 * the units of a process that ended wait longer.
 */
const RUN_TIMEOUT_MS = 60_000;
/**
 * Milliseconds between two tries of a failing unit. It is tried for ever: once its cause is fixed, it succeeds within
 * `most`.
 */
const FAILURE_DELAYS_MS = { first: 5_000, most: 10 * 60_000 } as const;
/**
 * The longest time to find the failing units of a batch. Then an error ends the sweep. The remaining units wait for the next
 * one, whose batch leaves out the failing units that were found.
 */
const ISOLATION_TIMEOUT_MS = 120_000;

/** The message that is stored with a unit that may have ended a process. */
const CRASHED = "the process that worked on it ended, or hung for a minute";

/** Reported when units are set aside. */
class UnitsSetAside extends Error {
  override readonly name = "UnitsSetAside";
  readonly condition = "work_set_aside";
  readonly sentences = {
    begins: "background work ended three processes in a row and is set aside; the rest goes on",
    lasts: "background work is still being set aside",
    ends: "no more background work is set aside",
  };
}

/** Reported when a unit fails. */
class UnitFailing extends Error {
  override readonly name = "UnitFailing";
}

/**
 * Processes one batch of a system. Halves a failing batch until it has isolated the failing units: those wait and are tried
 * separately, and the others are processed. After a crash it tries each unit of that run separately, so that no other unit
 * is blamed; a unit that ends three processes is set aside.
 */
export async function sweepUnits(work: UnitWork, systemId: string, limit: number): Promise<Swept> {
  const { db } = work;
  let states = await findUnitStates(db, systemId, work.work, limit);
  if (states.has_left_behind) {
    await recordCrashes(work, systemId);
    states = await findUnitStates(db, systemId, work.work, limit);
  }
  const units = await work.list(systemId, limit, states.apart);
  const isolation = new Isolation(work, systemId);
  let swept = await isolation.run(units);
  for (const unit of states.due) swept += await isolation.runAlone(unit);
  const isMore = units.length >= limit || states.due.length >= limit;
  // Units that another process has locked do not count: otherwise the sweep would request them again and again.
  return { swept, isMore: isMore && swept + isolation.failed > 0 };
}

/** Counts a crash for each unit of the runs that have not ended in time, and reports those that are set aside for it. */
async function recordCrashes(
  { db, work, onError }: Pick<UnitWork, "db" | "work" | "onError">,
  systemId: string,
): Promise<void> {
  const setAside = await insertCrashes(db, systemId, work, CRASHED);
  if (setAside.length === 0) return;
  const names = setAside.slice(0, 10).join(", ");
  onError(new UnitsSetAside(`${work}: ${names}. See \`bikeshare set-aside list\``), systemId);
}

/** Runs units of one batch, and finds those that fail. */
class Isolation {
  readonly #work: UnitWork;
  readonly #systemId: string;
  readonly #endsAt = performance.now() + ISOLATION_TIMEOUT_MS;
  /** The number of units that failed when they were run alone. */
  failed = 0;

  constructor(work: UnitWork, systemId: string) {
    this.#work = work;
    this.#systemId = systemId;
  }

  /** Runs units, and halves them again and again to find those that fail. @returns on how many it worked */
  async run(units: readonly string[]): Promise<number> {
    if (units.length === 0) return 0;
    try {
      return await this.#attempt(units);
    } catch (error) {
      if (!isOfUnits(error) || performance.now() > this.#endsAt) throw error;
      const [unit] = units;
      if (units.length === 1 && unit !== undefined) return this.#fail(unit, error);
      const half = Math.ceil(units.length / 2);
      return (await this.run(units.slice(0, half))) + (await this.run(units.slice(half)));
    }
  }

  /** Runs one unit that failed before or may have crashed a process, and forgets its failures if it succeeds. */
  async runAlone(unit: string): Promise<number> {
    const failedBefore = this.failed;
    const swept = await this.run([unit]);
    if (this.failed === failedBefore) await deleteFailures(this.#work.db, this.#systemId, this.#work.work, unit);
    return swept;
  }

  async #attempt(units: readonly string[]): Promise<number> {
    const { db, work, canCrash, run } = this.#work;
    if (!canCrash) return run(this.#systemId, units);
    const id = await insertRun(db, this.#systemId, work, units, RUN_TIMEOUT_MS);
    try {
      return await run(this.#systemId, units);
    } finally {
      await deleteRun(db, this.#systemId, work, id);
    }
  }

  async #fail(unit: string, cause: unknown): Promise<number> {
    const { db, work, onError } = this.#work;
    const message = cause instanceof Error ? cause.message : String(cause);
    await insertFailure(db, this.#systemId, work, { unit, message }, FAILURE_DELAYS_MS);
    this.failed++;
    onError(new UnitFailing(`${unit} fails, and is tried again by itself: ${message}`, { cause }), this.#systemId);
    return 0;
  }
}

/** The unit that `runGuarded` runs, and its dependencies. */
interface UnitGuard extends Pick<UnitWork, "db" | "work" | "onError"> {
  readonly systemId: string;
  readonly unit: string;
}

/** How long to wait for another process that works on the unit. */
const OTHER_RUN_TIMEOUT_MS = 5_000;
const OTHER_RUN_POLL_INTERVAL_MS = 100;
/** The most due units among which the one to run is searched for. */
const MAX_DUE = 1_000;

/** Thrown when a unit is not run now, because it may have ended a process, or another process works on it. */
class UnitKeptApart extends Error {
  override readonly name = "UnitKeptApart";
  readonly condition = "work_kept_apart";
}

/**
 * Processes one unit that could end this process. The caller reports failures; a unit that ends three processes is set
 * aside.
 * @throws UnitKeptApart when the unit is set aside, or a run of the last minute has not recorded its end within 5 s: its
 * process has ended, or still works on the unit
 */
export async function runGuarded<Result>(guard: UnitGuard, run: () => Promise<Result>): Promise<Result> {
  const { db, work, systemId, unit } = guard;
  const hasFailed = await waitForUnit(guard);
  const id = await insertRun(db, systemId, work, [unit], RUN_TIMEOUT_MS);
  try {
    const result = await run();
    if (hasFailed) await deleteFailures(db, systemId, work, unit);
    return result;
  } finally {
    await deleteRun(db, systemId, work, id);
  }
}

/** Deletes the record that a unit failed or is set aside, once nothing is left to do for it. */
export async function forgetUnit({ db, work, systemId, unit }: Omit<UnitGuard, "onError">): Promise<void> {
  await deleteFailures(db, systemId, work, unit);
}

/** Waits while another run works on the unit. @returns whether the unit has failed before */
async function waitForUnit({ db, work, systemId, unit, onError }: UnitGuard): Promise<boolean> {
  for (let leftMs = OTHER_RUN_TIMEOUT_MS; ; leftMs -= OTHER_RUN_POLL_INTERVAL_MS) {
    let states = await findUnitStates(db, systemId, work, MAX_DUE);
    if (states.has_left_behind) {
      await recordCrashes({ db, work, onError }, systemId);
      states = await findUnitStates(db, systemId, work, MAX_DUE);
    }
    if (!states.apart.includes(unit)) return false;
    if (states.due.includes(unit)) return true;
    if (leftMs <= 0 || !states.running.includes(unit))
      throw new UnitKeptApart(
        `${unit} is left alone, because a process that worked on it has ended, for a minute or until it is released. ` +
          "See `bikeshare set-aside list`",
      );
    await sleep(OTHER_RUN_POLL_INTERVAL_MS);
  }
}

/** PostgreSQL's classes of errors that are caused by sent or stored values, and its codes for damaged rows. */
const OF_VALUES = /^(?:21|22|23|27|44|54|P0|XX001|XX002)/;

/** Tells whether an error may come from single units, rather than from the database or the network. */
export function isOfUnits(error: unknown): boolean {
  const code = codeOf(error);
  // The statement took too long, because of one unit or of the whole database. Running fewer units shows which.
  if (code === sqlState.queryCanceled) return true;
  if (isUnavailable(error) || isRetryable(error)) return false;
  return code === undefined || OF_VALUES.test(code);
}

/** Tells whether a value must have caused an error: PostgreSQL refused the value, or it cannot be encoded for PostgreSQL. */
export function isOfValues(error: unknown): boolean {
  if (isRetryable(error)) return false;
  return error instanceof RangeError || error instanceof TypeError || OF_VALUES.test(codeOf(error) ?? "");
}
