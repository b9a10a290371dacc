import { isAtLeast } from "@bikeshare/contract";
import type { FeedLoss } from "@bikeshare/contract/console";
import { isObject, type JsonObject, numberFrom } from "../../gbfs/values.ts";
import type { FeedSet } from "../feed-set.ts";
import { motorTypes, objectsIn, recordsOf, stringsIn } from "../rules/rule.ts";
import { type Consumer, counted, Drops, type Taken } from "./consumer.ts";

/** OpenTripPlanner 2, whose rules are in `GbfsFeedLoaderAndMapper` of its source and the mappers for versions 2 and 3. */
export const otp: Consumer = {
  id: "otp",
  name: "OpenTripPlanner",
  about: "The journey planner of many public transport authorities.",
  take,
};

/** The versions that OpenTripPlanner reads. `undefined`: it reads a feed without a version as 2.3. */
const VERSIONS: readonly (string | undefined)[] = [undefined, "1.1", "2.0", "2.1", "2.2", "2.3", "3.0"];

function take(set: FeedSet): Taken {
  const of = { stations: set.records("station_information").length, vehicles: set.records("vehicle_status").length };
  const refused = refusalOf(set);
  if (refused !== undefined) {
    const loss = { text: `takes nothing: ${refused.why}`, fix: refused.fix, count: of.stations + of.vehicles };
    return { stations: { shown: 0, of: of.stations }, vehicles: { shown: 0, of: of.vehicles }, losses: [loss] };
  }
  const stations = takeStations(set);
  const vehicles = takeVehicles(set);
  return {
    stations: { shown: stations.shown, of: of.stations },
    vehicles: { shown: vehicles.shown, of: of.vehicles },
    losses: [...stations.losses, ...vehicles.losses, ...zoneLosses(set)],
  };
}

interface Refusal {
  readonly why: string;
  readonly fix: string;
}

/** Returns why OpenTripPlanner rejects the whole feed; undefined: it does not. */
function refusalOf(set: FeedSet): Refusal | undefined {
  if (!VERSIONS.includes(set.declared))
    return {
      why: `it does not read GBFS ${set.declared}`,
      fix: "Offer 3.0 or 2.3 beside it, and give planners that address.",
    };
  const system = set.one("system_information");
  if (system === undefined) return { why: "no system information", fix: "Publish system_information.json." };
  if (typeof system.data["system_id"] !== "string") return { why: "the system has no id", fix: "Add `system_id`." };
  if (!hasText(system.data["name"], set)) return { why: "the system has no name", fix: "Add `name`." };
  const gbfs = set.one("gbfs");
  if (gbfs !== undefined) {
    const lists = isAtLeast(set.version, "3.0") ? [gbfs.data] : Object.values(gbfs.data);
    for (const listed of lists) {
      const names = objectsIn(isObject(listed) ? listed["feeds"] : []).flatMap(({ name }) =>
        typeof name === "string" ? [name] : [],
      );
      const twice = names.find((name, index) => names.indexOf(name) < index);
      if (twice !== undefined) return { why: `gbfs.json lists ${twice} twice`, fix: "List each file once." };
    }
  }
  for (const type of recordsOf(set, "vehicle_types"))
    if (typeof type.get("form_factor") !== "string" || typeof type.get("propulsion_type") !== "string")
      return { why: "a vehicle type has no form or propulsion", fix: "Add `form_factor` and `propulsion_type`." };
  return stationRefusal(set) ?? zoneRefusal(set);
}

/** Returns the refusal of a feed in which a station counts a vehicle type twice. */
function stationRefusal(set: FeedSet): Refusal | undefined {
  for (const station of recordsOf(set, "station_status")) {
    const types = objectsIn(station.get("vehicle_types_available")).map(({ vehicle_type_id: type }) => type);
    const docks = objectsIn(station.get("vehicle_docks_available")).flatMap(({ vehicle_type_ids: ids }) =>
      stringsIn(ids),
    );
    for (const listed of [types, docks])
      if (new Set(listed).size < listed.length)
        return { why: `station ${station.id} counts a vehicle type twice`, fix: "Count each type once at a station." };
  }
  return undefined;
}

/** Returns the refusal of a feed with a zone without rules, because OpenTripPlanner reads `rules[0]` of each zone. */
function zoneRefusal(set: FeedSet): Refusal | undefined {
  const bare = zonesOf(set).find((rules) => rules.length === 0);
  return bare === undefined ? undefined : { why: "a zone has no rule", fix: "Give each zone a rule, or remove it." };
}

/** Returns the rules of each zone. */
function zonesOf(set: FeedSet) {
  const zones = set.field("geofencing_zones", "geofencing_zones");
  return objectsIn(isObject(zones) ? zones["features"] : []).map(({ properties }) =>
    objectsIn(isObject(properties) ? properties["rules"] : []),
  );
}

function zoneLosses(set: FeedSet): FeedLoss[] {
  const count = zonesOf(set).filter((rules) => rules.length > 1).length;
  if (count === 0) return [];
  const text = `reads only the first rule of ${counted(count, "zone")}`;
  return [{ text, fix: "Put the rule for all vehicles first.", count }];
}

function takeStations(set: FeedSet) {
  const statuses = set.one("station_status") === undefined ? undefined : set.ids("station_status");
  const types = set.ids("vehicle_types");
  const drops = new Drops();
  let shown = 0;
  for (const station of recordsOf(set, "station_information")) {
    const hasPlace = numberFrom(station.get("lat")) !== undefined && numberFrom(station.get("lon")) !== undefined;
    if (statuses === undefined) drops.add("no status file");
    else if (station.id === undefined || !hasPlace || !hasText(station.get("name"), set)) drops.add("incomplete");
    else {
      shown++;
      if (!statuses.has(station.id)) drops.add("no status");
    }
  }
  const isUnknown = ({ vehicle_type_id: type, count }: JsonObject) =>
    typeof type === "string" && !types.has(type) && (numberFrom(count) ?? 0) > 0;
  for (const station of recordsOf(set, "station_status"))
    if (objectsIn(station.get("vehicle_types_available")).some(isUnknown)) drops.add("unknown type");
  return {
    shown,
    losses: drops.losses({
      "no status file": (n) => ({
        text: `drops ${counted(n, "station")}: no station_status`,
        fix: "Publish station_status.json.",
      }),
      incomplete: (n) => ({
        text: `drops ${counted(n, "station")} without a name or a position`,
        fix: "Give each station an id, a name in each language, `lat` and `lon`.",
      }),
      "no status": (n) => ({
        text: `knows no counts of ${counted(n, "station")}`,
        fix: "List every station in station_status.json.",
      }),
      "unknown type": (n) => ({
        text: `leaves out vehicles of unknown types at ${counted(n, "station")}`,
        fix: "Describe every type in vehicle_types.json.",
      }),
    }),
  };
}

function takeVehicles(set: FeedSet) {
  const motors = motorTypes(set);
  const drops = new Drops();
  let shown = 0;
  for (const vehicle of recordsOf(set, "vehicle_status")) {
    const [type, range] = [vehicle.get("vehicle_type_id"), numberFrom(vehicle.get("current_range_meters"))];
    const station = vehicle.get("station_id");
    // OpenTripPlanner shows a vehicle at a station as part of the station.
    if (typeof station === "string" && station.trim() !== "") shown++;
    else if (numberFrom(vehicle.get("lat")) === undefined || numberFrom(vehicle.get("lon")) === undefined)
      drops.add("position");
    else if (typeof type === "string" && motors.has(type) && (range === undefined || range < 0)) drops.add("range");
    else shown++;
  }
  return {
    shown,
    losses: drops.losses({
      position: (n) => ({
        text: `drops ${counted(n, "vehicle")} without a position`,
        fix: "Give each vehicle `lat` and `lon`, or its station.",
      }),
      range: (n) => ({
        text: `drops ${counted(n, "e-bike")} without a range`,
        fix: "Add `current_range_meters` to vehicles with a motor, 0 where it is not known.",
      }),
    }),
  };
}

/** Tells whether a text is present; in 3.0, each text must also have a language. */
function hasText(value: unknown, { version }: FeedSet): boolean {
  if (!isAtLeast(version, "3.0")) return typeof value === "string" && value !== "";
  if (!Array.isArray(value) || value.length === 0) return false;
  const isText = (text: unknown) => typeof text === "string" && text.trim() !== "";
  return value.every((each) => isObject(each) && isText(each["text"]) && isText(each["language"]));
}
