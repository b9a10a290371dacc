import type { Station } from "../wire.generated.ts";
import type { City, StationState } from "./city.ts";
import { instant } from "./clock.ts";
import { countedAt } from "./counters.ts";
import { recordEvent } from "./events.ts";

/** A station as it is described. What is left out is filled in, or stays as it was. */
export type StationFields = Partial<Station> & Pick<Station, "id">;

/** Whether riders can take a bike from the station. */
export function rentsOut({ status, is_renting }: Station): boolean {
  return status === "online" && is_renting;
}

/**
 * Makes a station, or changes what is known of it. Its state follows from its flags unless it is given, and where it
 * goes offline or comes online, that is an event.
 */
export function putStation(city: City, fields: StationFields): void {
  const held = city.stations.get(fields.id);
  const described: Station = {
    ...(held?.shown ?? newStation(fields.id)),
    updated_at: instant(city.now()),
    ...fields,
  };
  const wasInstalled = described.is_installed || held?.wasInstalled === true;
  const state = fields.status === undefined ? stateOf(described, wasInstalled, held) : {};
  if (held !== undefined) return change(city, held, { ...described, ...state }, wasInstalled);
  // Who gives a number of bikes speaks as a feed does; else the bikes are counted.
  const isMirrored = fields.num_bikes_available !== undefined;
  const counters = isMirrored ? {} : countedAt(city, fields.id);
  city.stations.set(fields.id, { shown: { ...described, ...counters, ...fields, ...state }, isMirrored, wasInstalled });
}

/** Takes a station offline until it is brought back. */
export function takeOffline(city: City, id: string): void {
  const held = stationIn(city, id);
  change(city, held, { ...held.shown, status: "offline", offline_reason: "operator" });
}

/** Brings back a station that was taken offline: it is online if its flags say that it works. */
export function bringOnline(city: City, id: string): void {
  const held = stationIn(city, id);
  change(city, held, { ...held.shown, ...stateOf(held.shown, held.wasInstalled, undefined) });
}

/** Removes a station for good. Its rides stay. */
export function removeStation(city: City, id: string): void {
  const held = stationIn(city, id);
  change(city, held, { ...held.shown, status: "removed", offline_reason: null });
}

function stationIn({ stations }: City, id: string): StationState {
  const held = stations.get(id);
  if (held === undefined) throw new Error(`there is no station ${id}`);
  return held;
}

type State = Pick<Station, "status" | "offline_reason">;

function stateOf(
  { is_installed, is_renting, is_returning }: Station,
  wasInstalled: boolean,
  held: StationState | undefined,
): State {
  if (held?.shown.status === "removed") return { status: "removed", offline_reason: null };
  if (held?.shown.offline_reason === "operator") return { status: "offline", offline_reason: "operator" };
  if (!is_installed && !wasInstalled) return { status: "planned", offline_reason: null };
  const works = is_installed && (is_renting || is_returning);
  return works ? { status: "online", offline_reason: null } : { status: "offline", offline_reason: "flags" };
}

/** Writes a station; an edge of `online` is an event. */
function change(city: City, held: StationState, shown: Station, wasInstalled = held.wasInstalled): void {
  const { status: from } = held.shown;
  const { status: to } = shown;
  held.shown = { ...shown, updated_at: instant(city.now()) };
  held.wasInstalled = wasInstalled;
  if (from === to || (from !== "online" && to !== "online")) return;
  recordEvent(city, to === "online" ? "station.online" : "station.offline", held.shown);
}

function newStation(id: string): Station {
  return {
    id,
    name: `Station ${id}`,
    short_name: null,
    lat: 47.3769,
    lon: 8.5417,
    address: null,
    region_id: null,
    capacity: null,
    is_virtual_station: false,
    is_installed: true,
    is_renting: true,
    is_returning: true,
    num_bikes_available: 0,
    num_bikes_reserved: 0,
    num_bikes_disabled: null,
    num_docks_available: null,
    num_docks_disabled: null,
    vehicle_types_available: [],
    status: "online",
    offline_reason: null,
    last_reported: null,
    updated_at: "",
  };
}
