import type { EventName } from "@bikeshare/contract";
import type { Decision, FeedTimes } from "./station-snapshot-decision.rules.ts";
import type { StationChange } from "./station.rules.ts";

/** Stations of a source of which one part has not arrived yet. */
export interface StationsWaiting {
  readonly withoutInformation: number;
  readonly withoutStatus: number;
}

/** The changes that a snapshot made to the stations of its source. */
export interface StationChanges {
  readonly created: number;
  readonly updated: number;
  /** Named by the snapshot, and as they were. */
  readonly unchanged: number;
  /** Taken offline because this was the second snapshot in a row without them. */
  readonly removed: number;
  /** Stations that are not listed, because one of their parts has not arrived yet. */
  readonly waiting: StationsWaiting;
  /** Ids that the snapshot names and that belong to another source. */
  readonly ownedByOthers: readonly string[];
  /** Each change of state of a station that partners knew before, in the order of their ids. */
  readonly stateChanges: readonly StationChange[];
  /** The events that they made, by name: those that leave `online` or come there. */
  readonly events: readonly EventName[];
  /** The times of the feeds that are applied now. */
  readonly timesAfter: FeedTimes;
}

/** Counts the effects of a snapshot. */
export class Tally {
  created = 0;
  updated = 0;
  removed = 0;
  #unchanged = 0;
  readonly #waiting = { withoutInformation: 0, withoutStatus: 0 };
  readonly #ownedByOthers: string[] = [];
  readonly #stateChanges: StationChange[] = [];

  /** @param named whether the snapshot names the station */
  add(decision: Decision, named: boolean): void {
    if (decision.kind === "wait") {
      if (!decision.isOwnedByOther) {
        this.#waiting[decision.parts[0] === "status" ? "withoutInformation" : "withoutStatus"]++;
      } else if (named) this.#ownedByOthers.push(decision.id);
    } else if (decision.kind === "update" && decision.row.visible) {
      if (decision.removed) this.removed++;
      else this.updated++;
      if (decision.change) this.#stateChanges.push(decision.change);
    } else if (decision.kind !== "create" && named) this.#unchanged++;
  }

  changes(): Omit<StationChanges, "timesAfter" | "events"> {
    const { created, updated, removed } = this;
    const stateChanges = this.#stateChanges.toSorted((a, b) => (a.stationId < b.stationId ? -1 : 1));
    const others = { waiting: this.#waiting, ownedByOthers: this.#ownedByOthers, stateChanges };
    return { created, updated, unchanged: this.#unchanged, removed, ...others };
  }
}
