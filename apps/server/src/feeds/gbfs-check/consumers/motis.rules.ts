import { isObject, numberFrom } from "../../gbfs/values.ts";
import type { FeedSet } from "../feed-set.ts";
import { objectsIn, recordsOf } from "../rules/rule.ts";
import { type Consumer, counted, Drops, type Taken } from "./consumer.ts";

/** MOTIS, whose rules are in `src/gbfs/parser.cc` of its source. It reads every version, and guesses missing values. */
export const motis: Consumer = {
  id: "motis",
  name: "MOTIS",
  about: "The journey planner of Transitous, which covers the world.",
  take,
};

function take(set: FeedSet): Taken {
  const stations = takeStations(set);
  const vehicles = takeVehicles(set);
  const zones = new Drops();
  const features = set.field("geofencing_zones", "geofencing_zones");
  for (const { geometry, properties } of objectsIn(isObject(features) ? features["features"] : [])) {
    if (objectsIn(isObject(properties) ? properties["rules"] : []).length === 0) zones.add("rules");
    else if (!isMultiPolygon(geometry)) zones.add("geometry");
  }
  const zoneLosses = zones.losses({
    rules: (n) => ({ text: `skips ${counted(n, "zone")} without rules`, fix: "Give each zone a rule, or remove it." }),
    geometry: (n) => ({
      text: `skips ${counted(n, "zone")} of unknown shape`,
      fix: "Write each zone as a MultiPolygon of closed rings.",
    }),
  });
  const losses = [...stations.losses, ...vehicles.losses, ...zoneLosses, ...guesses(set)];
  return { stations: stations.taken, vehicles: vehicles.taken, losses };
}

function takeStations(set: FeedSet) {
  const status = set.ids("station_status");
  const types = set.ids("vehicle_types");
  const drops = new Drops();
  let shown = 0;
  let of = 0;
  for (const station of recordsOf(set, "station_information")) {
    of++;
    if (
      station.id === undefined ||
      numberFrom(station.get("lat")) === undefined ||
      numberFrom(station.get("lon")) === undefined
    )
      drops.add("place");
    else {
      shown++;
      if (!status.has(station.id)) drops.add("status");
    }
  }
  for (const station of recordsOf(set, "station_status")) {
    const named = objectsIn(station.get("vehicle_types_available"));
    if (named.some(({ vehicle_type_id: type }) => typeof type === "string" && !types.has(type))) drops.add("type");
  }
  return {
    taken: { shown, of },
    losses: drops.losses({
      place: (n) => ({
        text: `drops ${counted(n, "station")} without a position`,
        fix: "Give each station an id, `lat` and `lon`.",
      }),
      status: (n) => ({
        text: `knows no counts of ${counted(n, "station")}`,
        fix: "List every station in station_status.json.",
      }),
      type: (n) => ({
        text: `does not count vehicles of unknown types at ${counted(n, "station")}`,
        fix: "Describe every type in vehicle_types.json.",
      }),
    }),
  };
}

function takeVehicles(set: FeedSet) {
  const stations = set.ids("station_information");
  const types = set.ids("vehicle_types");
  const drops = new Drops();
  let shown = 0;
  let of = 0;
  for (const vehicle of recordsOf(set, "vehicle_status")) {
    of++;
    const [station, type] = [vehicle.get("station_id"), vehicle.get("vehicle_type_id")];
    const hasPlace = numberFrom(vehicle.get("lat")) !== undefined && numberFrom(vehicle.get("lon")) !== undefined;
    if (vehicle.id === undefined) drops.add("id");
    else if (!hasPlace && !(typeof station === "string" && stations.has(station))) drops.add("place");
    else if (typeof type === "string" && !types.has(type)) drops.add("type");
    else shown++;
  }
  return {
    taken: { shown, of },
    losses: drops.losses({
      id: (n) => ({ text: `drops ${counted(n, "vehicle")} without an id`, fix: "Give each vehicle an id." }),
      place: (n) => ({
        text: `drops ${counted(n, "vehicle")} without a position`,
        fix: "Give each vehicle `lat` and `lon`, or its station.",
      }),
      type: (n) => ({
        text: `does not rent out ${counted(n, "vehicle")} of unknown types`,
        fix: "Describe every type in vehicle_types.json.",
      }),
    }),
  };
}

const CONSTRAINTS: readonly unknown[] = ["free_floating", "roundtrip_station", "any_station", "hybrid"];

/**
 * Returns a loss for the vehicle types whose `return_constraint` MOTIS guesses. It then lets riders leave vehicles anywhere,
 * even if they must go back to stations.
 */
function guesses(set: FeedSet) {
  const listed = new Map<unknown, number>();
  const docked = new Set<unknown>();
  for (const vehicle of recordsOf(set, "vehicle_status")) {
    const type = vehicle.get("vehicle_type_id");
    listed.set(type, (listed.get(type) ?? 0) + 1);
    if (vehicle.get("station_id") !== undefined) docked.add(type);
  }
  for (const station of recordsOf(set, "station_status"))
    for (const { vehicle_type_id: type } of objectsIn(station.get("vehicle_types_available"))) docked.add(type);
  // Only types with vehicles at stations: for all others, which are free-floating, the guess is right.
  const guessed = [...recordsOf(set, "vehicle_types")].filter(
    (type) => !CONSTRAINTS.includes(type.get("return_constraint")) && listed.has(type.id) && docked.has(type.id),
  );
  if (guessed.length === 0) return [];
  const names = guessed.slice(0, 3).map(({ id }) => `\`${id}\``);
  const more = guessed.length > names.length ? ` and ${guessed.length - names.length} more` : "";
  const count = guessed.reduce((sum, { id }) => sum + (listed.get(id) ?? 0), 0);
  const noun = guessed.length === 1 ? "type" : "types";
  const text = `lets ${noun} ${names.join(", ")}${more} be left anywhere`;
  return [
    { text, fix: "Add `return_constraint` to the vehicle types: `any_station` where they go back to stations.", count },
  ];
}

function isMultiPolygon(geometry: unknown): boolean {
  if (!isObject(geometry) || geometry["type"] !== "MultiPolygon") return false;
  const polygons = geometry["coordinates"];
  return (
    Array.isArray(polygons) &&
    polygons.length > 0 &&
    polygons.every((rings) => Array.isArray(rings) && rings.length > 0)
  );
}
