import type { Database } from "../../storage/db/database.ts";
import { claimSuspects, listSuspectLanes, type SuspectLane } from "../queue/claim-queries.ts";
import { addClaimed, canClaim, canStartAttempt, freeSlotsOf, type Lane } from "./lane.ts";
import type { SuspectSlots } from "./suspect-slots.ts";

interface SuspectClaimerOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly clock: () => number;
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number;
  /** Shared by all systems of the process. */
  readonly suspects: SuspectSlots;
}

/**
 * Claims the deliveries of a system that may have ended a process, beside whatever else it sends. Those that have ended one
 * are tried first, some at a time; those that have ended two are tried alone, so that no other one is blamed.
 */
export class SuspectClaimer {
  readonly #options: SuspectClaimerOptions;
  readonly #lanes: ReadonlyMap<string, Lane>;
  /** Where suspects were when they were last looked for. */
  #waiting: readonly SuspectLane[] = [];

  constructor(options: SuspectClaimerOptions, lanes: ReadonlyMap<string, Lane>) {
    this.#options = options;
    this.#lanes = lanes;
  }

  /** Suspects are there that this process may try. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Claims what may be tried now. @param mayBeNew whether to look for suspects also where none were before */
  async claim(mayBeNew: boolean): Promise<void> {
    const { db, systemId, clock, suspects } = this.#options;
    if (mayBeNew) {
      const found = await listSuspectLanes(db, systemId, new Date(clock()));
      this.#waiting = found.filter(({ endpoint_id: id }) => this.#lanes.has(id));
    }
    for (const each of this.#waiting) {
      if (!each.is_alone && suspects.free() > 0) await this.#claimFrom(each, suspects.free());
    }
    if (this.#waiting.some((each) => !each.is_alone)) return;
    for (const each of this.#waiting) if (suspects.isEmpty()) await this.#claimFrom(each, 1);
  }

  async #claimFrom(from: SuspectLane, most: number): Promise<void> {
    const { db, systemId, clock, monotonic, suspects } = this.#options;
    const { endpoint_id: endpointId, replay, is_alone: isAlone } = from;
    const lane = this.#lanes.get(endpointId);
    if (lane === undefined || !canClaim(lane, monotonic()) || !canStartAttempt(lane, monotonic())) return;
    const limit = Math.min(most, freeSlotsOf(lane));
    if (limit < 1) return;
    const request = { endpointId, token: lane.token, limit, dueFrom: new Date(0) };
    try {
      const tried = isAlone ? "alone" : "together";
      const rows = await claimSuspects(db, systemId, [request], { tried, replay, now: new Date(clock()) });
      addClaimed(lane, rows);
      suspects.take(
        lane,
        rows.map((row) => row.delivery_id),
        isAlone,
      );
      // Looked for again with the next poll.
      if (rows.length < limit) this.#waiting = this.#waiting.filter((each) => each !== from);
    } catch (error) {
      // Whether the claim was committed is not known.
      lane.mustRelease = true;
      throw error;
    }
  }
}
