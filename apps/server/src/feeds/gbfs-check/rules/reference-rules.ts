import { type GbfsFeedName, isAtLeast } from "@bikeshare/contract";
import { isObject } from "../../gbfs/values.ts";
import type { FeedSet } from "../feed-set.ts";
import { type Found, inData, objectsIn, recordsOf, type Rule, stringsIn, wholeFile } from "./rule.ts";

/** Feeds whose records have ids. */
const LISTS: readonly GbfsFeedName[] = [
  "station_information",
  "station_status",
  "vehicle_status",
  "vehicle_types",
  "system_regions",
  "system_pricing_plans",
  "system_alerts",
];

/**
 * Rules for ids that refer to nothing, for repeated and unusual ids, and for missing languages. `rule.ts` explains the
 * fields of a rule.
 */
export const referenceRules: readonly Rule[] = [
  {
    id: "unknown-vehicle-type",
    severity: "error",
    since: "2.1",
    needs: ["vehicle_types"],
    text: "A vehicle type is named that vehicle_types.json does not have.",
    fix: "Describe the type in vehicle_types.json, or correct the id.",
    fine: "Every vehicle type that is named is described.",
    *find(set) {
      const known = set.ids("vehicle_types");
      if (known.size === 0) return;
      for (const found of typesNamed(set)) if (!known.has(found.type)) yield found;
    },
  },
  {
    id: "vehicle-types-missing",
    severity: "error",
    since: "2.1",
    text: "Vehicle types are named, and there is no vehicle_types.json.",
    fix: "Publish vehicle_types.json and list it.",
    *find(set) {
      const isAnyNamed = typesNamed(set).next().done !== true;
      if (set.one("vehicle_types") === undefined && isAnyNamed) yield wholeFile("vehicle_types.json");
    },
  },
  {
    id: "unknown-plan",
    severity: "error",
    since: "2.2",
    text: "A pricing plan is named that system_pricing_plans.json does not have.",
    fix: "Add the plan to system_pricing_plans.json, or correct the id.",
    fine: "Every pricing plan that is named is there.",
    *find(set) {
      const known = set.ids("system_pricing_plans");
      for (const type of recordsOf(set, "vehicle_types")) {
        const plan = type.get("default_pricing_plan_id");
        if (typeof plan === "string" && !known.has(plan)) yield type.at("default_pricing_plan_id");
        const other = stringsIn(type.get("pricing_plan_ids")).find((each) => !known.has(each));
        if (other !== undefined) yield type.at("pricing_plan_ids", other);
      }
      for (const vehicle of recordsOf(set, "vehicle_status")) {
        const plan = vehicle.get("pricing_plan_id");
        if (typeof plan === "string" && !known.has(plan)) yield vehicle.at("pricing_plan_id");
      }
    },
  },
  {
    id: "station-in-one-file",
    severity: "error",
    needs: ["station_information", "station_status"],
    text: "A station is in only one of station_information.json and station_status.json.",
    fix: "List every station in both files.",
    fine: "Every station is in both files.",
    *find(set) {
      for (const [name, other] of [
        ["station_information", "station_status"],
        ["station_status", "station_information"],
      ] as const) {
        const known = set.ids(other);
        for (const station of recordsOf(set, name))
          if (station.id !== undefined && !known.has(station.id))
            yield { ...station.at("station_id"), text: `A station is missing in ${other}.json.` };
      }
    },
  },
  {
    id: "unknown-station",
    severity: "error",
    needs: ["station_information"],
    text: "A station is named that station_information.json does not have.",
    fix: "List the station, or correct the id.",
    *find(set) {
      const known = set.ids("station_information");
      for (const vehicle of recordsOf(set, "vehicle_status"))
        for (const field of ["station_id", "home_station_id"]) {
          const station = vehicle.get(field);
          if (typeof station === "string" && !known.has(station)) yield vehicle.at(field);
        }
      for (const alert of recordsOf(set, "system_alerts")) {
        const station = stringsIn(alert.get("station_ids")).find((each) => !known.has(each));
        if (station !== undefined) yield { ...alert.at("station_ids", station), severity: "warning" };
      }
    },
  },
  {
    id: "unknown-region",
    severity: "error",
    needs: ["station_information"],
    text: "A region is named that system_regions.json does not have.",
    fix: "Add the region to system_regions.json, or correct the id.",
    *find(set) {
      const known = set.ids("system_regions");
      for (const station of recordsOf(set, "station_information")) {
        const region = station.get("region_id");
        if (typeof region === "string" && region !== "" && !known.has(region)) yield station.at("region_id");
      }
    },
  },
  {
    id: "id-repeated",
    severity: "error",
    text: "Two records have the same id; consumers keep one of them or fail on the file.",
    fix: "Give each its own id, or remove the repeated record.",
    fine: "Every id is unique in its file.",
    *find(set) {
      for (const name of LISTS) {
        const seen = new Set<string>();
        for (const record of recordsOf(set, name)) {
          if (record.id === undefined) continue;
          if (seen.has(record.id)) yield { file: record.file, path: record.path, id: record.id, value: record.id };
          seen.add(record.id);
        }
      }
    },
  },
  {
    id: "id-characters",
    severity: "warning",
    since: "3.0",
    text: "An id has blanks, controls or characters beyond ASCII.",
    fix: "Use visible ASCII characters only, such as letters, digits, - and _.",
    fine: "Ids are of visible ASCII characters.",
    *find(set) {
      for (const name of LISTS)
        for (const record of recordsOf(set, name))
          if (record.id !== undefined && !/^[!-~]+$/.test(record.id))
            yield { file: record.file, path: record.path, id: record.id, value: record.id };
    },
  },
  {
    id: "languages-incomplete",
    severity: "warning",
    text: "A text or a file is missing in one of the system's languages.",
    fix: "Give every text and every file in all languages, or list fewer languages.",
    find: (set) => (isAtLeast(set.version, "3.0") ? textsWithoutLanguage(set) : listsThatDiffer(set)),
  },
];

/** A place that names a vehicle type. */
interface NamedType extends Found {
  readonly type: string;
}

/** Yields the places of vehicles and stations that name a vehicle type. */
function* typesNamed(set: FeedSet): Generator<NamedType> {
  for (const vehicle of recordsOf(set, "vehicle_status")) {
    const type = vehicle.get("vehicle_type_id");
    if (typeof type === "string") yield { ...vehicle.at("vehicle_type_id"), type };
  }
  for (const station of recordsOf(set, "station_status")) {
    for (const { vehicle_type_id: type } of objectsIn(station.get("vehicle_types_available")))
      if (typeof type === "string") yield { ...station.at("vehicle_types_available", type), type };
    for (const { vehicle_type_ids: types } of objectsIn(station.get("vehicle_docks_available")))
      for (const type of stringsIn(types)) yield { ...station.at("vehicle_docks_available", type), type };
  }
  for (const station of recordsOf(set, "station_information")) {
    for (const field of ["vehicle_types_capacity", "vehicle_docks_capacity"])
      for (const { vehicle_type_ids: types } of objectsIn(station.get(field)))
        for (const type of stringsIn(types)) yield { ...station.at(field, type), type };
    // The forms before GBFS 3.0: objects with a count for each type.
    for (const field of ["vehicle_capacity", "vehicle_type_capacity"]) {
      const counts = station.get(field);
      for (const type of isObject(counts) ? Object.keys(counts) : []) yield { ...station.at(field, type), type };
    }
  }
}

/** The fields with texts in several languages, of the system and of records in lists. */
const SYSTEM_TEXTS = ["name", "short_name", "operator", "attribution_organization_name", "terms_url", "privacy_url"];
const RECORD_TEXTS = ["name", "short_name", "make", "model", "description", "summary"];

/** Yields the texts that lack one of the languages that the system declares. From GBFS 3.0 on. */
function* textsWithoutLanguage(set: FeedSet): Generator<Found> {
  const document = set.one("system_information");
  const languages = stringsIn(document?.data["languages"]);
  if (document === undefined || languages.length < 2) return;
  // Returns a language in which a text is missing.
  const lacks = (value: unknown) => {
    const given = new Set(objectsIn(value).map(({ language }) => language));
    return languages.find((language) => !given.has(language));
  };
  for (const field of SYSTEM_TEXTS)
    if (document.data[field] !== undefined && lacks(document.data[field]) !== undefined) yield inData(document, field);
  for (const name of LISTS)
    for (const record of recordsOf(set, name))
      for (const field of RECORD_TEXTS) {
        const value = record.get(field);
        if (Array.isArray(value) && lacks(value) !== undefined) yield record.at(field);
      }
}

/** Yields each language whose list of files lacks a file. Up to GBFS 2.3, each language has its own list. */
function* listsThatDiffer(set: FeedSet): Generator<Found> {
  const document = set.one("gbfs");
  if (document === undefined) return;
  const lists = Object.entries(document.data).filter(([, listed]) => isObject(listed));
  const namesIn = (listed: unknown) => objectsIn(isObject(listed) ? listed["feeds"] : []).map(({ name }) => name);
  const all = new Set(lists.flatMap(([, listed]) => namesIn(listed)));
  for (const [language, listed] of lists) {
    const missing = [...all].find((name) => !namesIn(listed).includes(name));
    if (missing !== undefined) yield { file: document.file, path: `data.${language}.feeds`, value: missing };
  }
}
