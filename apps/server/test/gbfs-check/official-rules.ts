import { isAtLeast } from "@bikeshare/contract";
import type { FeedSet } from "../../src/feeds/gbfs-check/feed-set.ts";
import { objectsIn } from "../../src/feeds/gbfs-check/rules/rule.ts";
import { isObject, type JsonObject } from "../../src/feeds/gbfs/values.ts";
import { compileSchema, officialSchema } from "../gbfs-out/official-schemas.ts";

// Imitates MobilityData's validator: the official schemas, and the rules across files, which the validator merges into the
// schemas.

/** Returns the documents in which the official validator finds an error, with what it finds. */
export function officialErrors(set: FeedSet): Map<string, readonly unknown[]> {
  const found = new Map<string, readonly unknown[]>();
  for (const { file, source, content } of set.documents) {
    const schema = officialSchema(set.version, source.name);
    if (schema === undefined) continue;
    const additions = isAtLeast(set.version, "2.1") ? additionsOf(set, source.name) : [];
    const validate = compiled(schema, additions);
    if (!validate(content)) found.set(file, validate.errors ?? []);
  }
  return found;
}

const held = new Map<string, ReturnType<typeof compileSchema>>();

function compiled(schema: object, additions: readonly object[]) {
  // Compiles each combination of schema and additions once, and caches it by its JSON. Without `$id`, the combinations do
  // not conflict.
  const all = { allOf: [{ ...schema, $id: undefined }, ...additions.map((data) => ({ properties: { data } }))] };
  const key = JSON.stringify(all);
  const validate = held.get(key) ?? compileSchema(JSON.parse(key) as object);
  if (held.size > 500) held.clear();
  held.set(key, validate);
  return validate;
}

function additionsOf(set: FeedSet, feed: string): object[] {
  const list = (name: string, items: object) => ({ properties: { [name]: { items } } });
  const types = recordsIn(set, "vehicle_types", "vehicle_types");
  const plans = recordsIn(set, "system_pricing_plans", "plans");
  switch (feed) {
    case "station_status": {
      if (types.length === 0) return [];
      const ids = types.map((type) => type["vehicle_type_id"] ?? null);
      const available = { items: { properties: { vehicle_type_id: { enum: ids } } } };
      return [
        list("stations", { required: ["vehicle_types_available"], properties: { vehicle_types_available: available } }),
      ];
    }
    case "free_bike_status":
    case "vehicle_status": {
      if (types.length === 0) return [];
      const vehicles = feed === "vehicle_status" ? "vehicles" : "bikes";
      const motors = types
        .filter(({ propulsion_type: type }) => MOTORS.includes(type))
        .map((type) => type["vehicle_type_id"] ?? null);
      const isMotor = { properties: { vehicle_type_id: { enum: motors } }, required: ["vehicle_type_id"] };
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
      const range = motors.length === 0 ? {} : { if: isMotor, then: { required: ["current_range_meters"] } };
      return [list(vehicles, { required: ["vehicle_type_id"], ...range })];
    }
    case "vehicle_types": {
      if (plans.length === 0) return [];
      const known = plans.map(({ plan_id: id }) => id ?? null);
      const isKnown = isAtLeast(set.version, "2.3") ? { default_pricing_plan_id: { enum: known } } : {};
      return [list("vehicle_types", { properties: isKnown })];
    }
    case "system_information": {
      const platforms = ["android", "ios"].filter((platform) => hasLinks(set, platform));
      if (platforms.length === 0) return [];
      const apps = Object.fromEntries(platforms.map((platform) => [platform, { required: ["store_uri"] }]));
      return [{ required: ["rental_apps"], properties: { rental_apps: { required: platforms, properties: apps } } }];
    }
    default:
      return [];
  }
}

/** The motors that the validator's rule knows. The schemas allow more. */
const MOTORS: readonly unknown[] = ["electric_assist", "electric", "combustion"];

function recordsIn(set: FeedSet, feed: "vehicle_types" | "system_pricing_plans", list: string): JsonObject[] {
  return objectsIn(set.one(feed)?.data[list]);
}

function hasLinks(set: FeedSet, platform: string): boolean {
  const lists = [
    set.one("station_information")?.data["stations"],
    set.one("vehicle_status")?.data["vehicles"],
    set.one("vehicle_status")?.data["bikes"],
  ];
  return lists.some((list) =>
    objectsIn(list).some(({ rental_uris: uris }) => isObject(uris) && Boolean(uris[platform])),
  );
}
