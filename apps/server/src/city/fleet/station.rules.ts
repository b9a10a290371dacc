import type { Station } from "@bikeshare/contract";
import { ABSENT_SNAPSHOTS_UNTIL_OFFLINE, type StationState, stationState } from "@bikeshare/rules";

// Joins the two parts of a station that a feed sends separately (information and status), and derives the station's state.
// Also limits the stations of a source.

/** A source's description of a station: GBFS's `station_information`. */
export interface StationInformation {
  readonly name: string;
  readonly short_name: string | null;
  readonly lat: number;
  readonly lon: number;
  readonly address: string | null;
  readonly region_id: string | null;
  readonly capacity: number | null;
  readonly is_virtual_station: boolean;
  /** Compact JSON of GBFS's optional fields that have no column. Equal values are equal texts. */
  readonly source_facts: string | null;
}

/** A source's report of a station's status: GBFS's `station_status`. */
export interface StationStatusReport {
  readonly is_installed: boolean;
  readonly is_renting: boolean;
  readonly is_returning: boolean;
  readonly num_bikes_available: number;
  readonly num_bikes_disabled: number | null;
  readonly num_docks_available: number | null;
  readonly num_docks_disabled: number | null;
  /** Compact JSON as it is sent, ordered by vehicle type. Equal values are equal texts. */
  readonly vehicle_types_available: string;
  /**
   * Free docks by the vehicle types that fit them, as compact JSON ordered by type; null when the source does not count
   * them.
   */
  readonly vehicle_docks_available: string | null;
  /** Milliseconds since 1970. */
  readonly last_reported: number | null;
}

/** A change of a station's state. */
export interface StationChange {
  readonly stationId: string;
  readonly from: Station["status"];
  readonly to: Station["status"];
}

/**
 * Tells whether a station is a placeholder, which was created because rides name it. A placeholder is offline as if its
 * source no longer listed it, although no snapshots without it have been counted.
 */
export function isPlaceholder(station: StationState & { readonly absent_snapshots: number }): boolean {
  return isGivenUp(station) && station.absent_snapshots < ABSENT_SNAPSHOTS_UNTIL_OFFLINE;
}

/**
 * Tells whether a station's source no longer lists it, so that another source may take it over. This is also true of
 * placeholder stations.
 */
export function isGivenUp({ status, offline_reason }: StationState): boolean {
  return status === "offline" && offline_reason === "removed_from_source";
}

/** The source of stations and bikes that the operator's commands create. */
export const OPERATOR = "operator";

/** Tells whether a feed describes a station, so that the next snapshot would overwrite the operator's changes. */
export function isOfFeed(station: StationState & { readonly source: string }): boolean {
  return station.source !== OPERATOR && !isGivenUp(station);
}

/**
 * Maximum number of stations of a source. Counts stations that are gone or wait for a part, too, because their ids are never
 * deleted. The largest sources have a few thousand. Too high: a source with new ids in every snapshot fills the disk.
 */
const MAX_STATIONS = 50_000;

/** A source names more stations than it may have. */
class TooManyStationsError extends Error {
  override readonly name = "TooManyStationsError";
  /** A known cause, whose message contains the remedy; see health/conditions/conditions.ts. */
  readonly condition = "gbfs_too_many_stations";

  constructor(source: string, { known, added, most }: { known: number; added: number; most: number }) {
    super(
      `The source "${source}" has ${known} stations, and this snapshot names ${added} others; it may have ${most} in all. ` +
        `Nothing was changed. Ask its publisher to keep each station's station_id over time, and to publish each city in a ` +
        `feed of its own. Until then, stop following it.`,
    );
  }
}

/** How many stations a source has and a snapshot adds. */
interface Extent {
  /** Stations that the source has. */
  readonly known: number;
  /** Stations that a snapshot would add. */
  readonly added: number;
  /** Maximum number of stations of the source. Default: `MAX_STATIONS`; tests lower it. */
  readonly most?: number | undefined;
}

/** @throws TooManyStationsError when a snapshot would give its source more stations than it may have */
export function refuseTooMany(source: string, { known, added, most = MAX_STATIONS }: Extent): void {
  if (added > 0 && known + added > most) throw new TooManyStationsError(source, { known, added, most });
}

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
  "source_facts",
] as const satisfies (keyof StationInformation)[];

/** A station's columns that are in its status. */
export const statusFields = [
  "is_installed",
  "is_renting",
  "is_returning",
  "num_bikes_available",
  "num_bikes_disabled",
  "num_docks_available",
  "num_docks_disabled",
  "vehicle_types_available",
  "vehicle_docks_available",
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

/**
 * The two newest snapshots of a feed, by their `last_updated` in milliseconds since 1970. Two are enough, because a station
 * goes offline once two in a row lack it (`ABSENT_SNAPSHOTS_UNTIL_OFFLINE`).
 */
export interface SnapshotTimes {
  readonly latest: number;
  readonly before: number | undefined;
}

/** A station with both parts. */
export interface JoinedStation extends StationInformation, KnownStationStatus, StationState {
  /** How many of the newest status snapshots in a row lack the station; 2 at most. */
  readonly absent_snapshots: number;
}

/**
 * Returns the times of a feed after a snapshot of `at` arrived, in order or late. A snapshot that is known already changes
 * nothing.
 */
export function advance(times: SnapshotTimes | undefined, at: number): SnapshotTimes {
  if (times === undefined) return { latest: at, before: undefined };
  const { latest, before } = times;
  if (at > latest) return { latest: at, before: latest };
  const isSecondNewest = at < latest && (before === undefined || at > before);
  return isSecondNewest ? { latest, before: at } : times;
}

/** Returns how many of the newest snapshots in a row lack a part that was last named at `asOf`; 2 at most. */
export function absentSnapshots(asOf: number, { latest, before }: SnapshotTimes): 0 | 1 | 2 {
  if (asOf >= latest) return 0;
  return before === undefined || asOf >= before ? 1 : 2;
}

/**
 * Returns the parts after a snapshot: the newest of each part wins, whatever the order of arrival. Of two parts of the same
 * instant the one that arrives last wins.
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
 * @param staleAfterMs the time without a report of the station itself after which it is stale; undefined: it never is
 */
export function joinParts(
  { information, status }: StationParts,
  times: SnapshotTimes | undefined,
  held: StationState | undefined,
  staleAfterMs?: number,
): JoinedStation | undefined {
  if (information === undefined || status === undefined) return undefined;
  const absent_snapshots = times === undefined ? 0 : absentSnapshots(status.asOf, times);
  const content = { ...information.content, ...status.content, absent_snapshots };
  const { last_reported } = content;
  // Measured at the newest snapshot, not by the clock, so that a replay of the same snapshots gives the same states.
  const silentMs = times === undefined || last_reported === null ? 0 : times.latest - last_reported;
  const is_silent = staleAfterMs !== undefined && silentMs > staleAfterMs;
  return { ...content, ...stationState(held, { ...content, is_silent }) };
}

/** Returns the newer of two parts; of the same instant, the incoming one. */
function newest<Content>(held: Part<Content> | undefined, incoming: Part<Content> | undefined) {
  if (held === undefined || incoming === undefined) return incoming ?? held;
  return incoming.asOf >= held.asOf ? incoming : held;
}

function saysInstalled(part: Part<KnownStationStatus> | undefined): boolean {
  return part !== undefined && (part.content.is_installed || part.content.was_installed);
}
