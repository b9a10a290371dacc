/*
 * The rules of a station: its state from what its feed says, the events of a change, and its counters of bikes and free
 * docks. A snapshot is all of a feed as it was at one time.
 */

/**
 * The usual lifecycle of a station: `planned` → `online` ⇄ `offline` → `removed`. `stationState` decides it by the feed; the
 * operator's commands set `removed` and the reason `operator`.
 */
export interface StationState {
  readonly status: "planned" | "online" | "offline" | "removed";
  readonly offline_reason: "flags" | "operator" | "removed_from_source" | "stale" | null;
}

/**
 * After so many good snapshots in a row without a station, the station goes offline. Too low (1): each glitch of a feed
 * takes stations offline (a real system lost and regained 315 in a month). Too high: a station that is gone stays visible
 * for longer.
 */
export const ABSENT_SNAPSHOTS_UNTIL_OFFLINE = 2;

/** The facts that decide a station's state, in addition to its present state. */
export interface StationSigns {
  readonly is_installed: boolean;
  readonly is_renting: boolean;
  readonly is_returning: boolean;
  /** Whether any snapshot so far, this one included, said `is_installed`. */
  readonly was_installed: boolean;
  /** The number of newest good snapshots in a row that did not contain the station. */
  readonly absent_snapshots: number;
  /** Whether the station itself has not reported for longer than the operator permits. Default: false. */
  readonly is_silent?: boolean;
}

/**
 * Returns the state of a station that a feed describes. It depends on the signs only, not on the state before, with two
 * exceptions: `removed` is final, and a station that the operator took offline stays offline until the operator ends that.
 * @param present the station's present state; undefined for a new station
 */
export function stationState(present: StationState | undefined, signs: StationSigns): StationState {
  if (present?.status === "removed") return { status: "removed", offline_reason: present.offline_reason };
  if (present?.offline_reason === "operator") return { status: "offline", offline_reason: "operator" };
  if (signs.absent_snapshots >= ABSENT_SNAPSHOTS_UNTIL_OFFLINE) {
    return { status: "offline", offline_reason: "removed_from_source" };
  }
  if (!signs.is_installed && !signs.was_installed) return { status: "planned", offline_reason: null };
  const works = signs.is_installed && (signs.is_renting || signs.is_returning);
  if (!works) return { status: "offline", offline_reason: "flags" };
  if (signs.is_silent === true) return { status: "offline", offline_reason: "stale" };
  return { status: "online", offline_reason: null };
}

/**
 * Returns the event of a change of a station's status: `station.offline` when it was `online`, `station.online` when it
 * becomes `online`. Other changes have no event.
 */
export function stationChangeEvent(from: string, to: string): "station.online" | "station.offline" | undefined {
  if (from === to || (from !== "online" && to !== "online")) return undefined;
  return to === "online" ? "station.online" : "station.offline";
}

/**
 * Returns the time to store for a change. It is not before the previous change, even if another process with a faster clock
 * stored that with a time later than now.
 * @param now milliseconds since 1970
 * @param earlier the time of the previous change; undefined: there was none
 * @param isAfter whether the time must also differ from the previous one, because events are sorted by it
 */
export function timeOfChange(now: number, earlier: number | undefined, isAfter: boolean): number {
  if (earlier === undefined || earlier < now || (earlier === now && !isAfter)) return now;
  return earlier + 1;
}

/** The facts of a bike that decide the counters of its station. */
export interface CountedBike {
  readonly vehicle_state: string;
  readonly station_id: string | null;
}

/** How much the counters of a station change. */
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

/** Returns the changes of the counters of a bike's station. @param change 1: the bike arrives; -1: it leaves */
function shiftAt({ vehicle_state, station_id }: CountedBike, change: 1 | -1): CounterShift[] {
  if (station_id === null) return [];
  const counted = (state: string) => (vehicle_state === state ? change : 0);
  return [{ stationId: station_id, available: counted("available"), reserved: counted("reserved") }];
}

/** The states in which a bike at a station may stand in a dock. In the other states it is away. */
export const STATES_IN_DOCK = ["available", "reserved", "non_operational", "non_contactable"] as const;

/** Tells whether a bike counts as standing in a dock of its station. */
export function standsInDock({ vehicle_state }: CountedBike): boolean {
  return STATES_IN_DOCK.some((state) => state === vehicle_state);
}

/** The facts that decide how many docks of a station are free. */
export interface Docks {
  /** The last reported number of free docks, plus the bikes that stood there then. Null: never reported. */
  readonly base: number | null;
  readonly capacity: number | null;
  readonly disabled: number | null;
  /** Bikes that stand at the station now. */
  readonly standing: number;
}

/**
 * Returns the number of free docks: the last reported number, plus one for each bike that left since then, minus one for
 * each bike that came. If none was reported, it is the capacity without disabled docks and standing bikes. Null: unknown.
 */
export function freeDocks({ base, capacity, disabled, standing }: Docks): number | null {
  const docks = base ?? (capacity === null ? null : capacity - (disabled ?? 0));
  return docks === null ? null : Math.max(0, docks - standing);
}
