import { type StationState, stationState } from "@bikeshare/rules";
import type { StationInformation, StationStatusReport } from "./station.rules.ts";

/** One part of a station, and the snapshot that it is from. */
interface Part<Content> {
  readonly content: Content;
  /** `last_updated` of the newest snapshot that names it, milliseconds since 1970. */
  readonly asOf: number;
}

/** A station's columns that are in its information. */
export const informationFields = [
  "name",
  "short_name",
  "lat",
  "lon",
  "address",
  "region_id",
  "capacity",
  "is_virtual_station",
] as const satisfies (keyof StationInformation)[];

/** Those that are in its status. */
export const statusFields = [
  "is_installed",
  "is_renting",
  "is_returning",
  "num_bikes_available",
  "num_bikes_disabled",
  "num_docks_available",
  "num_docks_disabled",
  "vehicle_types_available",
  "last_reported",
] as const satisfies (keyof StationStatusReport)[];

/** A status, and whether any status so far was `is_installed`. */
export interface KnownStationStatus extends StationStatusReport {
  readonly was_installed: boolean;
}

/** The parts of a station. A part that has not arrived yet is undefined. */
export interface StationParts {
  readonly information?: Part<StationInformation> | undefined;
  readonly status?: Part<KnownStationStatus> | undefined;
}

/** The two newest snapshots of a feed, by their `last_updated` in milliseconds since 1970. */
export interface SnapshotTimes {
  readonly latest: number;
  readonly before: number | undefined;
}

/** A station with both parts. */
export interface JoinedStation extends StationInformation, KnownStationStatus, StationState {
  readonly absent_snapshots: number;
}

/**
 * Returns the times of a feed after a snapshot of `at` arrived, in order or late. One that is known already changes
 * nothing.
 */
export function advance(times: SnapshotTimes | undefined, at: number): SnapshotTimes {
  if (times === undefined) return { latest: at, before: undefined };
  const { latest, before } = times;
  if (at > latest) return { latest: at, before: latest };
  const between = at < latest && (before === undefined || at > before);
  return between ? { latest, before: at } : times;
}

/** Returns how many consecutive good snapshots, up to the newest, omit a part from `asOf`; 2 at most. */
export function absentSnapshots(asOf: number, { latest, before }: SnapshotTimes): 0 | 1 | 2 {
  if (asOf >= latest) return 0;
  return before === undefined || asOf >= before ? 1 : 2;
}

/**
 * Returns the parts after a snapshot: the newest of each part wins, whatever the order of arrival. Of two from the same
 * instant the last to arrive wins.
 */
export function mergeParts(held: StationParts, incoming: StationParts): StationParts {
  const status = newest(held.status, incoming.status);
  const was_installed = saysInstalled(held.status) || saysInstalled(incoming.status);
  return {
    information: newest(held.information, incoming.information),
    status: status && { asOf: status.asOf, content: { ...status.content, was_installed } },
  };
}

/**
 * Returns the station that two parts make; undefined while one is missing. The station is then not listed: without its
 * information it has no position, and without its status it is not known whether it exists, so that `planned` would be a
 * guess.
 * @param held the state that the station is in
 * @param times the two newest snapshots of its status; undefined before the first
 */
export function joinParts(
  { information, status }: StationParts,
  times: SnapshotTimes | undefined,
  held: StationState | undefined,
): JoinedStation | undefined {
  if (information === undefined || status === undefined) return undefined;
  const absent_snapshots = times === undefined ? 0 : absentSnapshots(status.asOf, times);
  const content = { ...information.content, ...status.content, absent_snapshots };
  return { ...content, ...stationState(held, content) };
}

function newest<Content>(held: Part<Content> | undefined, incoming: Part<Content> | undefined) {
  if (held === undefined || incoming === undefined) return incoming ?? held;
  return incoming.asOf >= held.asOf ? incoming : held;
}

function saysInstalled(part: Part<KnownStationStatus> | undefined): boolean {
  return part !== undefined && (part.content.is_installed || part.content.was_installed);
}
