import { isAtLeast } from "@bikeshare/contract";
import { isObject } from "../../gbfs/values.ts";
import { inData, motorTypes, objectsIn, recordsOf, type Rule, stringsIn, wholeFile, zonesOf } from "./rule.ts";

/** The default id of a system in this service, which other operators publish too. */
export const UNNAMED_SYSTEM = "main";

/** The propulsion types that the official schemas treat as motorized. For `motorTypes`, unknown words are motors too. */
const MOTORS = new Set([
  "electric",
  "electric_assist",
  "combustion",
  "combustion_diesel",
  "hybrid",
  "plug_in_hybrid",
  "hydrogen_fuel_cell",
]);

/** Rules for fields and files that GBFS requires under a condition. `rule.ts` explains the fields of a rule. */
export const conditionRules: readonly Rule[] = [
  {
    id: "vehicle-position",
    severity: "error",
    since: "2.1",
    needs: ["vehicle_status"],
    text: "A vehicle has neither a position nor a station.",
    fix: "Give each vehicle `lat` and `lon`, or else the `station_id` of its station.",
    fine: "Every vehicle has a position or a station.",
    *find(set) {
      for (const vehicle of recordsOf(set, "vehicle_status")) {
        // At a station, both coordinates may be missing, but not one of them.
        const [lat, lon] = [vehicle.raw["lat"], vehicle.raw["lon"]];
        if (lat !== undefined && lon !== undefined) continue;
        if (lat === undefined && lon === undefined && vehicle.raw["station_id"] !== undefined) continue;
        yield vehicle.at("lat", { lat, lon });
      }
    },
  },
  {
    id: "terms-date",
    severity: "error",
    since: "2.3",
    needs: ["system_information"],
    text: "The terms or the privacy policy have an address and no date.",
    fix: "Add `terms_last_updated` to `terms_url`, and `privacy_last_updated` to `privacy_url`.",
    *find(set) {
      const document = set.one("system_information");
      if (document === undefined) return;
      for (const word of ["terms", "privacy"]) {
        const has = (field: string) => document.data[field] !== undefined;
        if (has(`${word}_url`) && !has(`${word}_last_updated`)) yield inData(document, `${word}_last_updated`);
      }
    },
  },
  {
    id: "two-licences",
    severity: "error",
    since: "3.0",
    needs: ["system_information"],
    text: "The system has both `license_id` and `license_url`.",
    fix: "Keep `license_id` for a licence of the SPDX list, else `license_url`.",
    *find(set) {
      const document = set.one("system_information");
      const { license_id: id, license_url: url } = document?.data ?? {};
      if (document !== undefined && id !== undefined && url !== undefined) yield inData(document, "license_url");
    },
  },
  {
    id: "licence-missing",
    severity: "warning",
    needs: ["system_information"],
    text: "The feeds have no licence, so nobody knows whether they may be used.",
    fix: "Add `license_url`, or since 3.0 `license_id`, such as CC-BY-4.0.",
    fine: "The feeds have a licence.",
    *find(set) {
      const document = set.one("system_information");
      const { license_id: id, license_url: url } = document?.data ?? {};
      if (document !== undefined && id === undefined && url === undefined) yield inData(document, "license_url");
    },
  },
  {
    id: "id-of-others",
    severity: "warning",
    needs: ["system_information"],
    text: "The system's id is `main`, as that of others is: planners store stations by it, and mix them up.",
    fix: "Choose a `system_id` that nobody else in the world has, such as `citybikes_oslo`.",
    *find(set) {
      const document = set.one("system_information");
      if (document?.data["system_id"] === UNNAMED_SYSTEM) yield inData(document, "system_id");
    },
  },
  {
    id: "contact-missing",
    severity: "warning",
    needs: ["system_information"],
    text: "The feeds name nobody to write to when something is wrong with them.",
    fix: "Add `feed_contact_email` to system_information.json.",
    fine: "The feeds have a contact.",
    *find(set) {
      const document = set.one("system_information");
      if (document === undefined) return;
      // From GBFS 3.0 on, this service publishes an address that ends in `.invalid` if it knows none (`NO_ADDRESS`).
      const given = [document.data["feed_contact_email"], document.data["email"]];
      if (!given.some((email) => typeof email === "string" && !email.endsWith(".invalid")))
        yield inData(document, "feed_contact_email");
    },
  },
  {
    id: "max-range-missing",
    severity: "error",
    since: "2.1",
    needs: ["vehicle_types"],
    text: "A vehicle type with a motor has no `max_range_meters`.",
    fix: "Add the range with a full battery or tank, in metres.",
    *find(set) {
      for (const type of recordsOf(set, "vehicle_types")) {
        // The schemas of 2.3 and newer treat a type without a propulsion type as motorized.
        const propulsion = type.get("propulsion_type");
        const isUnknown = propulsion === undefined && isAtLeast(set.version, "2.3");
        const isMotor = typeof propulsion === "string" && MOTORS.has(propulsion);
        if ((isMotor || isUnknown) && type.get("max_range_meters") === undefined) yield type.at("max_range_meters");
      }
    },
  },
  {
    id: "range-missing",
    severity: "error",
    since: "2.1",
    needs: ["vehicle_types", "vehicle_status"],
    text: "A vehicle with a motor has no `current_range_meters`; OpenTripPlanner drops it.",
    fix: "Add the range that its battery or tank leaves, in metres; 0 where it is not known.",
    fine: "Every vehicle with a motor has a range.",
    *find(set) {
      const motors = motorTypes(set);
      for (const vehicle of recordsOf(set, "vehicle_status")) {
        const type = vehicle.get("vehicle_type_id");
        if (typeof type !== "string" || !motors.has(type)) continue;
        if (vehicle.get("current_range_meters") === undefined) yield vehicle.at("current_range_meters");
      }
    },
  },
  {
    id: "reservation-price",
    severity: "error",
    since: "3.1-RC3",
    needs: ["system_pricing_plans"],
    text: "A plan has two prices of a reservation, one for each minute and one for all of it.",
    fix: "Keep one of `reservation_price_per_min` and `reservation_price_flat_rate`.",
    *find(set) {
      for (const plan of recordsOf(set, "system_pricing_plans")) {
        const [perMinute, flat] = [plan.get("reservation_price_per_min"), plan.get("reservation_price_flat_rate")];
        if (perMinute !== undefined && flat !== undefined) yield plan.at("reservation_price_flat_rate");
      }
    },
  },
  {
    id: "reserve-time-missing",
    severity: "error",
    since: "3.1-RC3",
    needs: ["system_pricing_plans", "vehicle_types"],
    text: "A vehicle type whose plan has a price of reservations has no `default_reserve_time`.",
    fix: "Add the minutes for which a reservation holds a vehicle.",
    *find(set) {
      const priced = new Set<string>();
      for (const plan of recordsOf(set, "system_pricing_plans")) {
        const prices = [plan.get("reservation_price_per_min"), plan.get("reservation_price_flat_rate")];
        if (plan.id !== undefined && prices.some((price) => typeof price === "number" && price > 0))
          priced.add(plan.id);
      }
      for (const type of recordsOf(set, "vehicle_types")) {
        const plans = [type.get("default_pricing_plan_id"), ...stringsIn(type.get("pricing_plan_ids"))];
        const isPriced = plans.some((plan) => typeof plan === "string" && priced.has(plan));
        if (isPriced && type.get("default_reserve_time") === undefined) yield type.at("default_reserve_time");
      }
    },
  },
  {
    id: "store-uri-missing",
    severity: "error",
    since: "2.1",
    needs: ["system_information"],
    text: "Stations or vehicles have links into an app, and the system does not say where to get the app.",
    fix: "Add `rental_apps` with `store_uri` and `discovery_uri` for Android and iOS.",
    *find(set) {
      const document = set.one("system_information");
      if (document === undefined) return;
      const apps = isObject(document.data["rental_apps"]) ? document.data["rental_apps"] : {};
      for (const platform of ["android", "ios"]) {
        const app = apps[platform];
        const hasStore = isObject(app) && app["store_uri"] !== undefined;
        if (!hasStore && [...recordsWithLinks(set, platform)].length > 0)
          yield { file: document.file, path: `data.rental_apps.${platform}.store_uri`, value: app };
      }
    },
  },
  {
    id: "station-types-missing",
    severity: "error",
    since: "2.1",
    needs: ["vehicle_types", "station_status"],
    text: "The system has vehicle types, and a station does not say how many vehicles of each it has.",
    fix: "Add `vehicle_types_available` with a count for each type, also where it is 0.",
    fine: "Every station counts its vehicles by type.",
    *find(set) {
      if (set.records("vehicle_types").length === 0) return;
      for (const station of recordsOf(set, "station_status"))
        if (station.get("vehicle_types_available") === undefined) yield station.at("vehicle_types_available");
    },
  },
  {
    id: "vehicle-type-missing",
    severity: "error",
    since: "2.1",
    needs: ["vehicle_types", "vehicle_status"],
    text: "The system has vehicle types, and a vehicle does not say which it is of.",
    fix: "Add `vehicle_type_id`.",
    fine: "Every vehicle has a type.",
    *find(set) {
      if (set.records("vehicle_types").length === 0) return;
      for (const vehicle of recordsOf(set, "vehicle_status"))
        if (vehicle.get("vehicle_type_id") === undefined) yield vehicle.at("vehicle_type_id");
    },
  },
  {
    id: "default-plan-missing",
    severity: "error",
    since: "2.3",
    needs: ["vehicle_types", "system_pricing_plans"],
    text: "The system has pricing plans, and a vehicle type has no `default_pricing_plan_id`; lamassu drops its vehicles.",
    fix: "Add the id of the plan that applies where a vehicle has none of its own.",
    fine: "Every vehicle type has a default pricing plan.",
    *find(set) {
      if (set.records("system_pricing_plans").length === 0) return;
      for (const type of recordsOf(set, "vehicle_types"))
        if (type.get("default_pricing_plan_id") === undefined) yield type.at("default_pricing_plan_id");
    },
  },
  {
    id: "zone-without-rules",
    severity: "warning",
    needs: ["geofencing_zones"],
    text: "A zone has no rules: it says nothing, and OpenTripPlanner fails on the whole feed.",
    fix: "Give each zone a rule, the general one first, or remove it.",
    fine: "Every zone has rules.",
    *find(set) {
      for (const { file, path, properties } of zonesOf(set)) {
        const { rules } = properties;
        if (objectsIn(rules).length === 0) yield { file, path: `${path}.rules`, value: rules };
      }
    },
  },
  {
    id: "file-missing",
    severity: "error",
    text: "A file is missing that this kind of system requires.",
    fix: "Publish it and list it in gbfs.json.",
    fine: "All required files are there.",
    // Each missing file has a text and a fix of its own, which replace those above.
    *find(set) {
      const has = (name: Parameters<typeof set.one>[0]) => set.one(name) !== undefined;
      const vehicles = isAtLeast(set.version, "3.0") ? "vehicle_status" : "free_bike_status";
      const missing = (name: string, why: string) =>
        wholeFile(`${name}.json`, { text: `The file is missing: ${why}.`, fix: `Publish ${name}.json and list it.` });
      if (!has("gbfs") && isAtLeast(set.version, "2.0")) yield missing("gbfs", "it lists all others");
      if (!has("system_information")) yield missing("system_information", "every system needs it");
      if (has("station_information") && !has("station_status"))
        yield missing("station_status", "stations need both files");
      if (has("station_status") && !has("station_information"))
        yield missing("station_information", "stations need both files");
      if (!has("station_status") && !has("vehicle_status"))
        yield missing(vehicles, "a system without stations has vehicles");
    },
  },
  {
    id: "file-unreadable",
    severity: "error",
    text: "The file cannot be read.",
    fix: "Serve it as JSON in UTF-8 at the address that gbfs.json lists.",
    fine: "All listed files can be read.",
    *find(set) {
      for (const { file, failure } of set.failed)
        yield wholeFile(file, { text: `The file cannot be read: ${failure}.` });
    },
  },
  {
    id: "unknown-file",
    severity: "note",
    text: "This version of GBFS has no such file; nobody reads it.",
    fix: "Correct its name, leave it out, or publish the version that has it.",
    *find(set) {
      for (const { name } of set.unknown) yield wholeFile(`${name}.json`);
    },
  },
  {
    id: "manifest",
    severity: "error",
    since: "3.0",
    needs: ["system_information"],
    text: "The manifest does not list this system.",
    fix: "Publish manifest.json with every system of the publisher, or remove `manifest_url`.",
    *find(set) {
      const document = set.one("system_information");
      const url = document?.data["manifest_url"];
      if (document === undefined || url === undefined) return;
      const manifest = set.one("manifest");
      if (manifest === undefined) {
        // Saved files do not show whether there is a manifest.
        if (set.files.kind !== "folder")
          yield { ...inData(document, "manifest_url"), text: "The manifest cannot be read." };
        return;
      }
      const listed = objectsIn(manifest.data["datasets"]).map((dataset) => dataset["system_id"]);
      if (!listed.includes(document.data["system_id"])) yield inData(manifest, "datasets");
    },
  },
];

/** Yields the stations and vehicles that have a link into an app of a platform. */
function* recordsWithLinks(set: Parameters<Rule["find"]>[0], platform: string) {
  for (const name of ["station_information", "vehicle_status"] as const) {
    for (const record of recordsOf(set, name)) {
      const links = record.get("rental_uris");
      if (isObject(links) && typeof links[platform] === "string" && links[platform] !== "") yield record;
    }
  }
}
