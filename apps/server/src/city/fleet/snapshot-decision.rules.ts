import type { Bike } from "@bikeshare/contract";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { Position } from "./bike.rules.ts";
import type { StationRow, StationWrite, WaitingKey, WaitingRow } from "./station-snapshot-queries.ts";
import {
  informationFields,
  isGivenUp,
  isPlaceholder,
  type JoinedStation,
  joinParts,
  mergeParts,
  type SnapshotTimes,
  type StationChange,
  type StationParts,
  statusFields,
} from "./station.rules.ts";

// Decides how a snapshot of a feed changes one bike (`decideBike`) or one station (`decideStation`). A feed gives a station
// in two parts, information and status. A part that arrives before the other is stored apart, and waits for it.

/** A feed's report of a vehicle: GBFS's `free_bike_status` or `vehicle_status`. */
export interface VehicleReport {
  readonly number: string | null;
  readonly vehicle_type_id: string | null;
  readonly is_reserved: boolean;
  readonly is_disabled: boolean;
  readonly station_id: string | null;
  /** WGS 84 degrees; undefined where the feed names only the bike's station. */
  readonly position: Position | undefined;
  readonly current_range_meters: number | null;
  /** Compact JSON of GBFS's optional fields that have no column. Equal values are equal texts. */
  readonly source_facts: string | null;
  /** Milliseconds since 1970. */
  readonly last_reported: number | null;
}

/** A bike's fields that a feed decides. */
export interface FeedBike extends Omit<VehicleReport, "is_reserved" | "is_disabled" | "position"> {
  readonly vehicle_state: Bike["vehicle_state"];
  readonly lat: number | null;
  readonly lon: number | null;
}

/** A bike's row, which a snapshot is compared with. Times in milliseconds since 1970. */
export interface BikeRow extends FeedBike, Pick<Tables["bikes"], "id" | "source" | "ride_id" | "reservation_id"> {
  /** The time of the latest report of the bike's state or location; null: no command has written the bike. */
  readonly reported_at: number | null;
}

/** Returns the state of a bike by GBFS's two flags. A bike that is both disabled and reserved counts as disabled. */
export function vehicleState(flags: Pick<VehicleReport, "is_disabled" | "is_reserved">): Bike["vehicle_state"] {
  if (flags.is_disabled) return "non_operational";
  return flags.is_reserved ? "reserved" : "available";
}

/**
 * Tells whether a feed decides the state of a bike. The feed does not decide it during a known ride, because the feed may be
 * older than the ride's start, and a bike that the operator removed stays removed.
 */
export function followsFeed(state: Bike["vehicle_state"]): boolean {
  return state !== "on_trip" && state !== "removed";
}

/**
 * Returns the bike that a vehicle's report describes.
 * @param station the position of the station that the report names. It becomes the bike's when the feed gives none, so that
 *   a partner who draws a map needs no second request
 */
export function bikeFromReport(report: VehicleReport, station: Position | undefined): FeedBike {
  const { is_reserved, is_disabled, position = station, ...fields } = report;
  const vehicle_state = vehicleState({ is_reserved, is_disabled });
  return { ...fields, vehicle_state, lat: position?.lat ?? null, lon: position?.lon ?? null };
}

/**
 * The effect of a snapshot on a bike. `keep`: the snapshot names it, and nothing changes. `none`: the snapshot does not
 * name it, and nothing changes. `ownedByOther`: the snapshot names it, and it belongs to another source.
 */
export type BikeDecision = "keep" | "update" | "delete" | "ownedByOther" | "none";

/** The inputs of a decision about one bike, in addition to the bike's own row. */
export interface BikeSnapshotContext {
  readonly source: string;
  /** The snapshot's `last_updated`, milliseconds since 1970. */
  readonly at: number;
  /** Bikes named in records that could not be read. */
  readonly rejected: ReadonlySet<string>;
}

/**
 * Decides the effect of a snapshot on one bike. Pure.
 * @param wanted the bike in the snapshot; undefined when the snapshot does not name it
 */
export function decideBike(context: BikeSnapshotContext, row: BikeRow, wanted: FeedBike | undefined): BikeDecision {
  const stays = wanted ? "keep" : "none";
  if (row.source !== context.source) return wanted ? "ownedByOther" : "none";
  if (row.ride_id !== null || !followsFeed(row.vehicle_state)) return stays;
  // The bike was reported after the feed was made, for example by the end of a ride. The next snapshot may be newer.
  if (row.reported_at !== null && row.reported_at > context.at) return stays;
  // The feed may not know of the reservation, so it ends the reservation only when it says that the bike cannot be ridden.
  if (row.reservation_id !== null) return wanted?.vehicle_state === "non_operational" ? "update" : stays;
  if (!wanted) return context.rejected.has(row.id) ? "none" : "delete";
  return feedBikeFields.every((field) => row[field] === wanted[field]) ? "keep" : "update";
}

/** The fields of a bike that a feed decides, in the order in which statements write them. */
export const feedBikeFields = [
  "number",
  "vehicle_type_id",
  "vehicle_state",
  "station_id",
  "lat",
  "lon",
  "current_range_meters",
  "source_facts",
  "last_reported",
] as const satisfies (keyof FeedBike)[];

/** The times of the last applied snapshots of a source's two station feeds. */
export interface FeedTimes {
  readonly information: SnapshotTimes | undefined;
  readonly status: SnapshotTimes | undefined;
}

/** The inputs of a decision about one station, in addition to the station's own row. */
export interface SnapshotContext {
  readonly source: string;
  /** The feed times before the snapshot. */
  readonly timesBefore: FeedTimes;
  /** The feed times after the snapshot. */
  readonly timesAfter: FeedTimes;
  /** The snapshot's parts, by station id. */
  readonly incoming: ReadonlyMap<string, StationParts>;
  /** Stored parts that wait for their other part, by station id. */
  readonly waiting: ReadonlyMap<string, readonly WaitingRow[]>;
  /** The time without a report of a station after which it is stale; undefined: it never is. */
  readonly stationStaleAfterMs?: number | undefined;
}

/**
 * The decision about one station. `keep`: its row does not change. `create` and `update`: its row is written. `wait`: the
 * parts of a station that is not listed, or belongs to another source, are kept apart. `drop` names stored parts that no
 * longer wait for their other part.
 */
export type Decision = { readonly id: string; readonly drop: readonly WaitingKey[] } & (
  | { readonly kind: "keep" }
  | { readonly kind: "create"; readonly row: StationWrite }
  | {
      readonly kind: "update";
      readonly row: StationWrite;
      /** Whether the station goes offline now because its source no longer lists it. */
      readonly removed: boolean;
      /** The change of the station's status that partners see; undefined: none. */
      readonly change: StationChange | undefined;
    }
  | {
      readonly kind: "wait";
      /** The parts that are known: one, or both of a station that belongs to another source. */
      readonly parts: readonly WaitingRow["part"][];
      /** The parts that are to be stored, because they are new or differ from the stored ones. */
      readonly save: readonly WaitingRow[];
      readonly isOwnedByOther: boolean;
    }
);

/** Decides the effect of a snapshot on one station. Pure. @param row the stored station */
export function decideStation(context: SnapshotContext, id: string, row: StationRow | undefined): Decision {
  // A placeholder (a station made because rides name it) belongs to no source yet, whatever its row says.
  const ours = row?.source === context.source && !isPlaceholder(row) ? row : undefined;
  const waiting = context.waiting.get(id) ?? [];
  const drop = waiting.map(({ part }) => ({ station_id: id, part }));
  // Only the operator removes a station, and a removed one stays removed.
  if (ours?.status === "removed") return { kind: "keep", id, drop };

  const times = context.timesAfter;
  const parts = mergeParts(heldParts(context, ours, waiting), context.incoming.get(id) ?? {});
  const joined = joinParts(parts, times.status, ours, context.stationStaleAfterMs);
  // A station that its source no longer lists (given up) may be taken over by another source.
  const isOwnedByOther = row !== undefined && ours === undefined && !isGivenUp(row);
  // Without both parts, the station is not listed.
  if (joined === undefined || isOwnedByOther) return waitingDecision(id, parts, times, waiting, isOwnedByOther);

  const asOf = {
    information_as_of: storedAsOf(parts.information?.asOf, times.information),
    status_as_of: storedAsOf(parts.status?.asOf, times.status),
  };
  // Operated counters follow the bikes, so the feed's counts are ignored.
  const described = row?.counters === "operated" ? { ...joined, ...pick(row, countedFields) } : joined;
  // Whether readers see a change. Other columns only record snapshots.
  const visible = row === undefined || !sameFields(row, described, jsonFields);
  const write: StationWrite = { id, ...described, ...asOf, visible };
  if (row === undefined) return { kind: "create", id, row: write, drop };
  if (ours && !visible && sameFields(ours, write, keptFields)) return { kind: "keep", id, drop };
  // A placeholder was never in service, so partners see no change of its status.
  const change =
    !isPlaceholder(row) && row.status !== joined.status
      ? { stationId: id, from: row.status, to: joined.status }
      : undefined;
  const removed = ours !== undefined && isGivenUp(joined) && !isGivenUp(ours);
  return { kind: "update", id, row: write, removed, change, drop };
}

/**
 * Returns the parts known before the snapshot: from the station's row, or from the waiting parts. A time that is null there
 * is that of the newest snapshot before this one (`storedAsOf`).
 */
function heldParts(
  context: SnapshotContext,
  ours: StationRow | undefined,
  waiting: readonly WaitingRow[],
): StationParts {
  const informationLatest = context.timesBefore.information?.latest ?? 0;
  const statusLatest = context.timesBefore.status?.latest ?? 0;
  if (ours) {
    return {
      information: { content: pick(ours, informationFields), asOf: ours.information_as_of ?? informationLatest },
      status: { content: pick(ours, knownStatusFields), asOf: ours.status_as_of ?? statusLatest },
    };
  }
  const parts: { -readonly [Name in keyof StationParts]: StationParts[Name] } = {};
  for (const row of waiting) {
    if (row.part === "information") {
      parts.information = { content: row.content, asOf: row.as_of ?? informationLatest };
    } else parts.status = { content: row.content, asOf: row.as_of ?? statusLatest };
  }
  return parts;
}

/** Decides to keep the parts of a station that is not listed, or that belongs to another source, as waiting parts. */
function waitingDecision(
  id: string,
  parts: StationParts,
  times: FeedTimes,
  waiting: readonly WaitingRow[],
  isOwnedByOther: boolean,
): Decision {
  const rows: WaitingRow[] = [];
  if (parts.information) {
    const { content, asOf } = parts.information;
    rows.push({ station_id: id, part: "information", as_of: storedAsOf(asOf, times.information), content });
  }
  if (parts.status) {
    const { content, asOf } = parts.status;
    rows.push({ station_id: id, part: "status", as_of: storedAsOf(asOf, times.status), content });
  }
  const save = rows.filter((row) => !waiting.some((held) => sameWaiting(held, row)));
  return { kind: "wait", id, parts: rows.map(({ part }) => part), save, isOwnedByOther, drop: [] };
}

/** Tells whether a waiting part is stored already as it is. */
function sameWaiting(a: WaitingRow, b: WaitingRow): boolean {
  if (a.as_of !== b.as_of) return false;
  if (a.part === "information") return b.part === a.part && sameFields(a.content, b.content, informationFields);
  return b.part === a.part && sameFields(a.content, b.content, knownStatusFields);
}

/**
 * Returns the time of a part as its row stores it. Null means the time of the newest snapshot, so that a new snapshot does
 * not have to write unchanged rows.
 */
function storedAsOf(asOf: number | undefined, times: SnapshotTimes | undefined): number | null {
  return asOf === undefined || times === undefined || asOf >= times.latest ? null : asOf;
}

/** The columns that are counted from the bikes at a station with operated counters. */
const countedFields = ["num_bikes_available", "num_bikes_disabled", "vehicle_types_available"] as const;
/** The fields of `KnownStationStatus`. */
const knownStatusFields = [...statusFields, "was_installed"] as const;
/** The fields whose change readers see. */
const jsonFields = [
  ...informationFields,
  ...statusFields,
  "status",
  "offline_reason",
] as const satisfies (keyof JoinedStation)[];
/** The fields that only record snapshots. */
const keptFields = ["absent_snapshots", "was_installed", "information_as_of", "status_as_of"] as const;

function sameFields<Field extends string>(
  a: { readonly [Name in Field]: unknown },
  b: { readonly [Name in Field]: unknown },
  fields: readonly Field[],
): boolean {
  return fields.every((field) => a[field] === b[field]);
}

/** Returns only these fields of a row: with the other part's fields, joining the parts would mix old and new values. */
function pick<Row extends object, Field extends keyof Row>(row: Row, fields: readonly Field[]): Pick<Row, Field> {
  const picked: Partial<Row> = {};
  for (const field of fields) picked[field] = row[field];
  return picked as Pick<Row, Field>; // each of `fields` was just set
}
