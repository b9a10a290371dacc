import type { Station } from "@bikeshare/contract";

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
export interface StationReadings {
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

/** Where a station is in its life: `planned` → `online` ⇄ `offline` → `removed`. */
export interface StationState {
  readonly status: Station["status"];
  readonly offline_reason: Station["offline_reason"];
}

/** A change of a station's state. */
export interface StationEdge {
  readonly stationId: string;
  readonly from: Station["status"];
  readonly to: Station["status"];
}

/**
 * Good snapshots in a row that must not name a station before it counts as gone. With 1, each hiccup of a feed
 * takes stations offline (a real system lost and regained 315 in a month); with more, a station that is gone is
 * shown for longer.
 */
const ABSENT_SNAPSHOTS_UNTIL_OFFLINE = 2;

/** What decides a station's state, beside the state it is in. */
export interface StationSigns extends Pick<StationReadings, "is_installed" | "is_renting" | "is_returning"> {
  /** Some snapshot, this or an earlier one, said `is_installed`. */
  readonly was_installed: boolean;
  /** Good snapshots in a row, up to the newest, that did not name the station. */
  readonly absent_snapshots: number;
}

/**
 * The state of a station that a feed describes. It depends on the signs alone, not on the order in which they
 * came, except that the operator's word stands until the operator takes it back: `removed` is final, and a
 * station taken offline stays so.
 * @param held the state it is in; undefined for a station that is new
 */
export function stationState(held: StationState | undefined, signs: StationSigns): StationState {
  if (held?.status === "removed") return { status: "removed", offline_reason: held.offline_reason };
  if (held?.offline_reason === "operator") return { status: "offline", offline_reason: "operator" };
  if (signs.absent_snapshots >= ABSENT_SNAPSHOTS_UNTIL_OFFLINE) {
    return { status: "offline", offline_reason: "removed_from_source" };
  }
  if (!signs.is_installed && !signs.was_installed) return { status: "planned", offline_reason: null };
  const works = signs.is_installed && (signs.is_renting || signs.is_returning);
  return works ? { status: "online", offline_reason: null } : { status: "offline", offline_reason: "flags" };
}

/**
 * Whether a station was only met in the records of rides: its source gave it up without ever having described it.
 */
export function isStub(station: StationState & { readonly absent_snapshots: number }): boolean {
  return isGivenUp(station) && station.absent_snapshots < ABSENT_SNAPSHOTS_UNTIL_OFFLINE;
}

/**
 * Whether another source may make this station its own: when the one it has gave it up. Stubs are in that
 * state too.
 */
export function isGivenUp({ status, offline_reason }: StationState): boolean {
  return status === "offline" && offline_reason === "removed_from_source";
}
