import type { FactsOf, MultiPolygon, ValueOf, zoneRuleFields } from "@bikeshare/contract";
import type { FeedData } from "./writer.ts";

// Converts zones to a form that consumers can read: OpenTripPlanner reads the first rule of a zone, and fails when
// there is none.

type Rule = ValueOf<typeof zoneRuleFields>;
type Ring = MultiPolygon["coordinates"][number][number];

/** The rule that GBFS assumes outside all zones. */
const ANYWHERE: Rule = { ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true };

/**
 * Builds `geofencing_zones`. Leaves out zones without a usable rule, and zones without an area.
 * @param types the ids of published vehicle types
 * @returns undefined when there is no zone and no rule for the area outside
 */
export function geofencingZones(
  { features = [], global_rules }: FactsOf<"geofencing_zones">,
  types: ReadonlySet<string>,
): FeedData<"geofencing_zones"> | undefined {
  const zones = features.flatMap((zone) => {
    const rules = orderedRules(zone.properties?.rules ?? [], types);
    const geometry = zone.geometry && closed(zone.geometry);
    if (rules.length === 0 || geometry === undefined) return [];
    return [{ type: "Feature" as const, geometry, properties: { ...zone.properties, rules } }];
  });
  const elsewhere = orderedRules(global_rules ?? [], types);
  if (zones.length === 0 && elsewhere.length === 0) return undefined;
  // Without a rule for all types, consumers that read only the first rule would apply that of one type to all.
  const isGeneral = elsewhere.some(({ vehicle_type_ids: ids }) => ids === undefined);
  return {
    geofencing_zones: { type: "FeatureCollection", features: zones },
    global_rules: isGeneral ? elsewhere : [ANYWHERE, ...elsewhere],
  };
}

/** Returns the rules without unpublished types. Rules for all types come first. */
function orderedRules(rules: readonly Rule[], types: ReadonlySet<string>): Rule[] {
  const usable = rules.flatMap((rule): Rule[] => {
    const { vehicle_type_ids: ids = [], ...rest } = rule;
    const kept = ids.filter((id) => types.has(id));
    if (ids.length === 0) return [rest];
    return kept.length === 0 ? [] : [{ ...rest, vehicle_type_ids: kept }];
  });
  const isGeneral = ({ vehicle_type_ids: ids }: Rule) => ids === undefined;
  return [...usable.filter(isGeneral), ...usable.filter((rule) => !isGeneral(rule))];
}

/** Returns polygons with closed rings, without holes that have no area; undefined when no polygon has an area. */
function closed({ coordinates }: MultiPolygon): MultiPolygon | undefined {
  const polygons = coordinates
    .map((polygon) => polygon.map(closedRing))
    .filter(([outer]) => hasArea(outer))
    .map((polygon) => polygon.filter(hasArea));
  return polygons.length === 0 ? undefined : { type: "MultiPolygon", coordinates: polygons };
}

/** Tells whether a closed ring has at least three corners. */
function hasArea(ring: Ring | undefined): ring is Ring {
  return ring !== undefined && ring.length >= 4;
}

/** Returns a ring whose first point is repeated at the end. */
function closedRing(ring: Ring): Ring {
  const [first] = ring;
  const last = ring.at(-1);
  const isClosed = first !== undefined && last !== undefined && first.every((value, index) => value === last[index]);
  return first === undefined || isClosed ? ring : [...ring, first];
}
