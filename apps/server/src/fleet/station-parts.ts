import { type StationState, stationState } from "@bikeshare/rules";
import type { StationInformation, StationReadings } from "./station.ts";

/** One half of a station, and the snapshot that it is from. */
export interface Part<Content> {
  readonly content: Content;
  /** `last_updated` of the newest snapshot that names it, milliseconds since 1970. */
  readonly asOf: number;
}

/** Readings, and whether any readings so far said `is_installed`. */
export interface ReadingsSoFar extends StationReadings {
  readonly was_installed: boolean;
}

/** What is known of a station: either part may not have come yet. */
export interface StationParts {
  readonly information?: Part<StationInformation> | undefined;
  readonly readings?: Part<ReadingsSoFar> | undefined;
}

/** The two newest snapshots of a feed, by their `last_updated` in milliseconds since 1970. */
export interface SnapshotTimes {
  readonly latest: number;
  readonly before: number | undefined;
}

/** A station whose two parts have met. */
export interface JoinedStation extends StationInformation, ReadingsSoFar, StationState {
  readonly absent_snapshots: number;
}

/** The times of a feed after a snapshot of `at` came, in order or late. One seen before changes nothing. */
export function advance(times: SnapshotTimes | undefined, at: number): SnapshotTimes {
  if (times === undefined) return { latest: at, before: undefined };
  const { latest, before } = times;
  if (at > latest) return { latest: at, before: latest };
  const between = at < latest && (before === undefined || at > before);
  return between ? { latest, before: at } : times;
}

/** How many good snapshots in a row, up to the newest, have not named a part that is from `asOf`; 2 at most. */
export function absentSnapshots(asOf: number, { latest, before }: SnapshotTimes): 0 | 1 | 2 {
  if (asOf >= latest) return 0;
  return before === undefined || asOf >= before ? 1 : 2;
}

/**
 * What is known after a snapshot came: of each part, the newest wins, whichever came first. Of two from the same
 * instant the one that came last wins.
 */
export function mergeParts(held: StationParts, incoming: StationParts): StationParts {
  const readings = newest(held.readings, incoming.readings);
  const was_installed = saysInstalled(held.readings) || saysInstalled(incoming.readings);
  return {
    information: newest(held.information, incoming.information),
    readings: readings && { asOf: readings.asOf, content: { ...readings.content, was_installed } },
  };
}

/**
 * The station that two parts make; undefined while one is missing. It is then not shown at all: without its
 * information it has no place, and without its readings nobody knows whether it stands there, so that listing
 * it as `planned` would be a guess.
 * @param held the state that the station is in
 * @param times the two newest snapshots of its readings; undefined before the first
 */
export function joinParts(
  { information, readings }: StationParts,
  times: SnapshotTimes | undefined,
  held: StationState | undefined,
): JoinedStation | undefined {
  if (information === undefined || readings === undefined) return undefined;
  const absent_snapshots = times === undefined ? 0 : absentSnapshots(readings.asOf, times);
  const content = { ...information.content, ...readings.content, absent_snapshots };
  return { ...content, ...stationState(held, content) };
}

function newest<Content>(held: Part<Content> | undefined, incoming: Part<Content> | undefined) {
  if (held === undefined || incoming === undefined) return incoming ?? held;
  return incoming.asOf >= held.asOf ? incoming : held;
}

function saysInstalled(part: Part<ReadingsSoFar> | undefined): boolean {
  return part !== undefined && (part.content.is_installed || part.content.was_installed);
}
