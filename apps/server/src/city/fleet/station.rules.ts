import type { Station } from "@bikeshare/contract";
import { ABSENT_SNAPSHOTS_UNTIL_OFFLINE, type StationState } from "@bikeshare/rules";

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
  /** Compact JSON as it is sent, ordered by vehicle type: two that are equal are the same text. */
  readonly vehicle_types_available: string;
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
 * Tells whether a station is a placeholder, made because rides name it: its source gave it up without having described it.
 */
export function isPlaceholder(station: StationState & { readonly absent_snapshots: number }): boolean {
  return isGivenUp(station) && station.absent_snapshots < ABSENT_SNAPSHOTS_UNTIL_OFFLINE;
}

/**
 * Tells whether another source may make this station its own: when the one it has gave it up. Placeholder
 * stations are in that state too.
 */
export function isGivenUp({ status, offline_reason }: StationState): boolean {
  return status === "offline" && offline_reason === "removed_from_source";
}

/** The source of stations and bikes that the operator's commands create. */
export const OPERATOR = "operator";

/** Tells whether a feed describes a station: the next snapshot would overwrite the operator's changes. */
export function isOfFeed(station: StationState & { readonly source: string }): boolean {
  return station.source !== OPERATOR && !isGivenUp(station);
}

/**
 * Stations that a source may have in all, those that are gone or wait for their other feed included: their ids are kept for
 * good. The largest sources have some thousand; without a bound, one that names others in every snapshot fills the disk.
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

interface Extent {
  /** Stations that the source has. */
  readonly known: number;
  /** Stations that a snapshot adds to them. */
  readonly added: number;
  readonly most?: number | undefined;
}

/** @throws TooManyStationsError when a snapshot adds stations beyond those that its source may have */
export function refuseTooMany(source: string, { known, added, most = MAX_STATIONS }: Extent): void {
  if (added > 0 && known + added > most) throw new TooManyStationsError(source, { known, added, most });
}
