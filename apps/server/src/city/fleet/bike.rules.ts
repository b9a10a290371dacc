import type { BatchWarning, Bike } from "@bikeshare/contract";
import { viewOf } from "@bikeshare/rules";
import type { Ids } from "../../ids.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** States that a bike can be reported in; the others follow from rides and reservations. */
export type ReportedState = Exclude<Bike["vehicle_state"], "reserved" | "on_trip">;

/** A bike as commands read and write it. A value that was never reported comes from the row. */
export interface BikeState extends Omit<
  Tables["bikes"],
  "system_id" | "updated_at" | "source" | "json" | "reported_state" | "change_position"
> {
  readonly reported_state: ReportedState;
  /** The bike's source: `operator`, or the name of a feed; undefined for a bike that a command creates. */
  readonly source?: string;
}

/** Returns a bike with other facts, and the state that follows from them for readers. */
export function changedBike(bike: BikeState, facts: Partial<BikeState>): BikeState {
  const changed = { ...bike, ...facts };
  return { ...changed, ...viewOf(changed) };
}

export interface Position {
  readonly lat: number;
  readonly lon: number;
}

/** The reported location of a bike. */
export type ReportedLocation = Pick<BikeState, "reported_station_id" | "reported_lat" | "reported_lon">;

/** Random bytes in a public id: so many that no id ever comes twice, and none can be guessed. */
const PUBLIC_ID_BYTES = 15;

/** Returns a public id for a bike: random alone. A time in it would say when the last ride ended. */
export function newPublicId(ids: Ids): string {
  return `v_${Buffer.from(ids.randomBytes(PUBLIC_ID_BYTES)).toString("base64url")}`;
}

/** Something that was so at a time (milliseconds since 1970; null: since ever). */
export interface Dated<Value> {
  readonly at: number | null;
  readonly value: Value;
}

/**
 * Returns the later of a known value and a report. Of two for one time it returns the one whose JSON is greater: the result
 * must not depend on the order of arrival.
 */
export function later<Value>(known: Dated<Value>, reported: Dated<Value>): Dated<Value> {
  const knownAt = known.at ?? Number.NEGATIVE_INFINITY;
  const reportedAt = reported.at ?? Number.NEGATIVE_INFINITY;
  if (reportedAt !== knownAt) return reportedAt > knownAt ? reported : known;
  return JSON.stringify(reported.value) > JSON.stringify(known.value) ? reported : known;
}

/** States that a ride's end does not disprove: a bike that is broken, or was taken away, can be brought back all the same. */
const LASTING_STATES: ReadonlySet<ReportedState> = new Set(["non_operational", "removed"]);

/** Warns that a ride's end makes a bike available that was reported broken or removed as of an earlier time. */
export function availableAgain(before: BikeState, after: Partial<BikeState>): BatchWarning | undefined {
  const { id: bike, reported_state: state, reported_state_at: at } = before;
  if (!LASTING_STATES.has(state) || after.reported_state !== "available" || at === null) return undefined;
  return ["availableAgain", { bike, state, at: at.toISOString() }];
}

/** Returns the state that was last reported of a bike. */
export function datedState(bike: BikeState): Dated<ReportedState> {
  return { at: bike.reported_state_at?.getTime() ?? null, value: bike.reported_state };
}

/** Returns the location that was last reported of a bike. */
export function datedLocation(bike: BikeState): Dated<ReportedLocation> {
  const { reported_station_id, reported_lat, reported_lon } = bike;
  return {
    at: bike.reported_position_at?.getTime() ?? null,
    value: { reported_station_id, reported_lat, reported_lon },
  };
}
