import type { FeedSet } from "../feed-set.ts";
import { recordsOf } from "../rules/rule.ts";
import { type Consumer, counted, Drops, type Taken } from "./consumer.ts";

/**
 * Entur's lamassu. Its GraphQL interface shows stations and vehicles only if the feed has vehicle types and pricing plans
 * (`EntityCachesUpdater` in its source). It omits vehicles whose plan or type is unknown (`VehicleFilter`), unless they
 * stand at a station with docks.
 */
export const lamassu: Consumer = {
  id: "lamassu",
  name: "lamassu",
  about: "Entur's server, through which apps in Norway read feeds.",
  take,
};

function take(set: FeedSet): Taken {
  const of = { stations: set.records("station_status").length, vehicles: set.records("vehicle_status").length };
  const nothing = { stations: { shown: 0, of: of.stations }, vehicles: { shown: 0, of: of.vehicles } };
  const missing = missingFile(set);
  if (missing !== undefined) {
    const [what, count] = of.stations > 0 ? (["station", of.stations] as const) : (["vehicle", of.vehicles] as const);
    const text = `shows 0 of ${counted(count, what)}: ${missing.why}`;
    return { ...nothing, losses: [{ text, fix: missing.fix, count: of.stations + of.vehicles }] };
  }
  const failure = failureOf(set);
  if (failure !== undefined) {
    const text = `takes nothing: ${failure.why}`;
    return { ...nothing, losses: [{ text, fix: failure.fix, count: of.stations + of.vehicles }] };
  }
  const stations = takeStations(set);
  const vehicles = takeVehicles(set);
  return {
    stations: { shown: stations.shown, of: of.stations },
    vehicles: { shown: vehicles.shown, of: of.vehicles },
    losses: [...stations.losses, ...vehicles.losses],
  };
}

/** Returns the missing file without which lamassu shows no station and no vehicle. */
function missingFile(set: FeedSet) {
  const needs = [
    ["system_pricing_plans", "no pricing plans", "Publish system_pricing_plans.json, with one plan at least."],
    ["vehicle_types", "no vehicle types", "Publish vehicle_types.json."],
    ["system_information", "no system information", "Publish system_information.json."],
  ] as const;
  for (const [name, why, fix] of needs) if (set.one(name) === undefined) return { why, fix };
  const hasStations = set.one("station_status") !== undefined && set.one("station_information") !== undefined;
  if (hasStations || set.one("vehicle_status") !== undefined) return undefined;
  return { why: "no stations and no vehicles", fix: "Publish both files of stations, or the vehicles." };
}

/** Returns why lamassu rejects the whole feed; undefined: it does not. */
function failureOf(set: FeedSet) {
  const seen = new Set<string>();
  for (const station of recordsOf(set, "station_information")) {
    if (station.get("name") === undefined) return { why: "a station has no name", fix: "Give each station a name." };
    if (station.id !== undefined && seen.has(station.id))
      return { why: `station ${station.id} is listed twice`, fix: "List each station once." };
    if (station.id !== undefined) seen.add(station.id);
  }
  for (const type of recordsOf(set, "vehicle_types"))
    if (type.get("form_factor") === undefined || type.get("propulsion_type") === undefined)
      return { why: "a vehicle type has no form or propulsion", fix: "Add `form_factor` and `propulsion_type`." };
  return undefined;
}

function takeStations(set: FeedSet) {
  const information = set.ids("station_information");
  const drops = new Drops();
  let shown = 0;
  for (const { id } of recordsOf(set, "station_status")) {
    if (id !== undefined && information.has(id)) shown++;
    else drops.add("unknown");
  }
  return {
    shown,
    losses: drops.losses({
      unknown: (n) => ({
        text: `drops ${counted(n, "station")} that station_information.json lacks`,
        fix: "List every station in both files.",
      }),
    }),
  };
}

function takeVehicles(set: FeedSet) {
  const plans = set.ids("system_pricing_plans");
  const types = new Map([...recordsOf(set, "vehicle_types")].map((type) => [type.id, type]));
  const stations = new Map([...recordsOf(set, "station_information")].map((station) => [station.id, station]));
  const drops = new Drops();
  let shown = 0;
  for (const vehicle of recordsOf(set, "vehicle_status")) {
    const plan = vehicle.get("pricing_plan_id");
    const typeId = vehicle.get("vehicle_type_id");
    const stationId = vehicle.get("station_id");
    const station = typeof stationId === "string" ? stations.get(stationId) : undefined;
    // lamassu shows a vehicle at a station as part of the station, unless the station is virtual.
    if (station !== undefined && station.get("is_virtual_station") !== true) shown++;
    else if (typeof plan === "string" && !plans.has(plan)) drops.add("plan");
    else if (typeof typeId !== "string") drops.add("no type");
    else if (!types.has(typeId)) drops.add("type");
    else if (plan === undefined && types.get(typeId)?.get("default_pricing_plan_id") === undefined)
      drops.add("no plan");
    else shown++;
  }
  return {
    shown,
    losses: drops.losses({
      plan: (n) => ({
        text: `drops ${counted(n, "vehicle")} of unknown pricing plans`,
        fix: "Publish the plans that vehicles name.",
      }),
      "no type": (n) => ({
        text: `drops ${counted(n, "vehicle")} without a type`,
        fix: "Add `vehicle_type_id` to each vehicle.",
      }),
      type: (n) => ({
        text: `drops ${counted(n, "vehicle")} of unknown types`,
        fix: "Describe every type in vehicle_types.json.",
      }),
      "no plan": (n) => ({
        text: `drops ${counted(n, "vehicle")} without a pricing plan`,
        fix: "Add `default_pricing_plan_id` to each vehicle type.",
      }),
    }),
  };
}
