/** Where a station is in its life: `planned` → `online` ⇄ `offline` → `removed`. */
export interface StationState {
  readonly status: "planned" | "online" | "offline" | "removed";
  readonly offline_reason: "flags" | "operator" | "removed_from_source" | "stale" | null;
}

/**
 * Good snapshots in a row that must not name a station before it counts as gone. With 1, each hiccup of a feed
 * takes stations offline (a real system lost and regained 315 in a month); with more, a station that is gone is
 * shown for longer.
 */
export const ABSENT_SNAPSHOTS_UNTIL_OFFLINE = 2;

/** The facts that decide a station's state, in addition to its present state. */
export interface StationSigns {
  readonly is_installed: boolean;
  readonly is_renting: boolean;
  readonly is_returning: boolean;
  /** Some snapshot, this or an earlier one, said `is_installed`. */
  readonly was_installed: boolean;
  /** Good snapshots in a row, up to the newest, that did not name the station. */
  readonly absent_snapshots: number;
}

/**
 * Returns the state of a station that a feed describes. It depends on the signs alone, not on the order in which they
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
 * Returns the event of a station's change of state: it goes offline when it leaves `online`, and online when it comes there;
 * no other change makes one.
 */
export function stationChangeEvent(from: string, to: string): "station.online" | "station.offline" | undefined {
  if (from === to || (from !== "online" && to !== "online")) return undefined;
  return to === "online" ? "station.online" : "station.offline";
}

/**
 * Returns the time of a change: never before an earlier one, which another process's clock may have put later than now.
 * @param now milliseconds since 1970
 * @param earlier the time of the earlier change; undefined: there was none
 * @param isAfter whether the two may not have the same time either, as those whose events are in order by time
 */
export function timeOfChange(now: number, earlier: number | undefined, isAfter: boolean): number {
  if (earlier === undefined || earlier < now || (earlier === now && !isAfter)) return now;
  return earlier + 1;
}

/** A bike, as far as the counters of its station follow from it. */
export interface CountedBike {
  readonly vehicle_state: string;
  readonly station_id: string | null;
}

/** By how many bikes the counters of a station change. */
export interface CounterShift {
  readonly stationId: string;
  readonly available: number;
  readonly reserved: number;
}

/** Returns the changes of the counters of the station that a bike leaves and of the station that it arrives at. */
export function counterShifts(before: CountedBike, after: CountedBike): CounterShift[] {
  if (before.station_id === after.station_id && before.vehicle_state === after.vehicle_state) return [];
  return [...shiftAt(before, -1), ...shiftAt(after, 1)];
}

function shiftAt({ vehicle_state, station_id }: CountedBike, n: number): CounterShift[] {
  if (station_id === null) return [];
  const counted = (state: string) => (vehicle_state === state ? n : 0);
  return [{ stationId: station_id, available: counted("available"), reserved: counted("reserved") }];
}

/** States of a bike that stands in a dock, or may: all but those in which it is away. */
export const STATES_IN_DOCK = ["available", "reserved", "non_operational", "non_contactable"] as const;

/** Tells whether a bike stands in a dock of its station, or may. */
export function standsInDock({ vehicle_state }: CountedBike): boolean {
  return STATES_IN_DOCK.some((state) => state === vehicle_state);
}

/** The facts that decide how many docks of a station are free. */
export interface Docks {
  /** The free docks that were reported last, and the bikes that stood there then. Null: never reported. */
  readonly base: number | null;
  readonly capacity: number | null;
  readonly disabled: number | null;
  /** Bikes that stand there now. */
  readonly standing: number;
}

/**
 * Free docks: those that were reported last, and since then one more for each bike that left and one less for each that
 * came. Never reported: what the capacity leaves beside the bikes; null where that is not known either.
 */
export function freeDocks({ base, capacity, disabled, standing }: Docks): number | null {
  const docks = base ?? (capacity === null ? null : capacity - (disabled ?? 0));
  return docks === null ? null : Math.max(0, docks - standing);
}
