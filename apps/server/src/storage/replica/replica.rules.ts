import type { ReplayedPosition, WrittenPosition } from "./queries.ts";

/** Whether a replica can be used for reads that must show everything that its primary has written, or why not. */
export type Verdict =
  | "current"
  /** The replica has not replayed everything yet. */
  | "behind"
  /** The replica is a primary itself. */
  | "promoted"
  /** The replica follows another primary: that of another cluster, or the former primary after a failover. */
  | "unrelated";

/**
 * Judges a replica by its position, and by the token that a process writes when it connects to a primary. A position alone
 * proves nothing if the replica follows another primary: after a failover, a replica of the old primary may have a higher
 * position than the new primary, and the positions of another cluster are arbitrary.
 */
export function judge(replayed: ReplayedPosition, written: WrittenPosition): Verdict {
  if (!replayed.isReplica || replayed.lsn === null) return "promoted";
  if (replayed.lsn < written.lsn) return "behind";
  return replayed.token !== null && replayed.token === written.token ? "current" : "unrelated";
}

/** A position of the primary, and the time in milliseconds at which the primary had it. */
interface Sample {
  readonly lsn: number;
  readonly at: number;
}

/** With more samples, every second one is dropped, and later samples are taken at the same wider interval. */
const MAX_SAMPLES = 1_000;

/** Estimates the maximum age of a replica's data, from the positions that its primary had at known times. */
export class LagMeter {
  #samples: Sample[] = [];
  #intervalMs = 0;
  /** The replica's data are at least as new as the primary's were at this time. Until they are known: when it was opened. */
  #currentAt: number;

  constructor(now: number) {
    this.#currentAt = now;
  }

  /** Notes that the primary has a position now. */
  written(lsn: number, now: number): void {
    const last = this.#samples.at(-1);
    // The replica has replayed all earlier samples, so the next ones can be taken at every call again.
    if (last === undefined) this.#intervalMs = 0;
    else if (now - last.at < this.#intervalMs) return;
    this.#samples.push({ lsn, at: now });
    if (this.#samples.length <= MAX_SAMPLES) return;
    this.#samples = this.#samples.filter((_, index) => index % 2 === 0);
    this.#intervalMs = (now - (this.#samples[0]?.at ?? now)) / this.#samples.length;
  }

  /** Notes that the replica has replayed a position. */
  replayed(lsn: number): void {
    const reached = this.#samples.findLast((sample) => sample.lsn <= lsn);
    if (reached === undefined) return;
    this.#currentAt = reached.at;
    this.#samples = this.#samples.filter((sample) => sample.lsn > lsn);
  }

  lagMs(now: number): number {
    return now - this.#currentAt;
  }
}
