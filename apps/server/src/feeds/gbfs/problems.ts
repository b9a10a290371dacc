import { shorten } from "../report-files.ts";
/** One thing wrong in a feed, and what we did about it: a line of the report. */
export interface Problem {
  /** The feed's name: `station_status`, … */
  readonly feed: string;
  /** The station's or vehicle's id; null when it has none, or when the whole feed is meant. */
  readonly record: string | null;
  readonly field: string | null;
  /** What the feed said, shortened. */
  readonly value: unknown;
  readonly reason: string;
  /** Repaired: another value was taken in its place. Rejected: the record, or the whole feed, was left out. */
  readonly action: "repaired" | "rejected";
}

/** A value as the report shows it. */
export function shown(value: unknown): unknown {
  if (value === undefined) return null;
  if (value === null || typeof value === "number" || typeof value === "boolean") return value;
  return shorten(typeof value === "string" ? value : JSON.stringify(value));
}

/** Problems of one document that are kept; further ones are counted. More would let one bad feed fill the memory. */
const MAX_PROBLEMS = 10_000;

/** What was wrong in one document: each problem as long as there is room, then how many more there were. */
export class ProblemLog {
  readonly kept: Problem[] = [];
  /** Problems beyond those kept. */
  omitted = 0;
  readonly #capacity: number;

  constructor(capacity = MAX_PROBLEMS) {
    this.#capacity = capacity;
  }

  /** @param make called only where there is room */
  note(make: () => Problem): void {
    if (this.kept.length < this.#capacity) this.kept.push(make());
    else this.omitted++;
  }
}
