import type { Station } from "@bikeshare/contract";
import { ABSENT_SNAPSHOTS_UNTIL_OFFLINE, type StationState } from "@bikeshare/rules";

/** What a source says that a station is: GBFS's `station_information`. */
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

/** How a source says that a station stands: GBFS's `station_status`. */
export interface StationStatusReport {
  readonly is_installed: boolean;
  readonly is_renting: boolean;
  readonly is_returning: boolean;
  readonly num_bikes_available: number;
  readonly num_bikes_disabled: number | null;
  readonly num_docks_available: number | null;
  readonly num_docks_disabled: number | null;
  /** Compact JSON as it goes over the wire, ordered by vehicle type: two that are equal are the same text. */
  readonly vehicle_types_available: string;
  /** Milliseconds since 1970. */
  readonly last_reported: number | null;
}

/** A change of a station's state. */
export interface StationEdge {
  readonly stationId: string;
  readonly from: Station["status"];
  readonly to: Station["status"];
}

/**
 * Whether a station was only met in the records of rides: its source gave it up without ever having described it.
 */
export function isPlaceholder(station: StationState & { readonly absent_snapshots: number }): boolean {
  return isGivenUp(station) && station.absent_snapshots < ABSENT_SNAPSHOTS_UNTIL_OFFLINE;
}

/**
 * Whether another source may make this station its own: when the one it has gave it up. Placeholders are in that
 * state too.
 */
export function isGivenUp({ status, offline_reason }: StationState): boolean {
  return status === "offline" && offline_reason === "removed_from_source";
}
