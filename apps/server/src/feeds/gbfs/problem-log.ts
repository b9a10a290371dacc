import type { Problem } from "./problem.ts";

/** Problems of one document that are kept; further ones are counted. More would let one bad feed fill the memory. */
const MAX_PROBLEMS = 10_000;

/** What was wrong in one document: each problem as long as there is room, then how many more there were. */
export class ProblemLog {
  readonly kept: Problem[] = [];
  /** Problems beyond those kept. */
  omitted = 0;
  readonly #room: number;

  constructor(room = MAX_PROBLEMS) {
    this.#room = room;
  }

  /** @param make called only where there is room */
  note(make: () => Problem): void {
    if (this.kept.length < this.#room) this.kept.push(make());
    else this.omitted++;
  }
}
