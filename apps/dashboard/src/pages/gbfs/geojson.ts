/** Reads GeoJSON from drawing programs, and converts anything with polygons to the form that GBFS needs. */
import { fieldOf, itemsOf, jsonOf } from "./json-parts.ts";

/** Returns the polygons of a geometry, a feature or a collection as one; returns anything else unchanged. */
export function multiPolygonFrom(given: unknown): unknown {
  const polygons = polygonsOf(given);
  return polygons.length === 0 ? given : { type: "MultiPolygon", coordinates: polygons };
}

/** Returns the polygons in any GeoJSON object, each as its rings of positions. Empty: there is none. */
function polygonsOf(given: unknown): readonly unknown[] {
  const coordinates = fieldOf(given, "coordinates");
  switch (fieldOf(given, "type")) {
    case "Polygon":
      return [coordinates];
    case "MultiPolygon":
      return itemsOf(coordinates);
    case "Feature":
      return polygonsOf(fieldOf(given, "geometry"));
    case "FeatureCollection":
      return itemsOf(fieldOf(given, "features")).flatMap(polygonsOf);
    case "GeometryCollection":
      return itemsOf(fieldOf(given, "geometries")).flatMap(polygonsOf);
    default:
      return [];
  }
}

/** A zone that was read from a file. */
export interface ReadZone {
  readonly type: "Feature";
  readonly geometry: unknown;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** The properties of a zone that GBFS defines. Others, such as colours that drawing programs add, are dropped. */
const KNOWN = ["name", "start", "end", "rules"] as const;

/** Returns the zones of a file; undefined if it has no polygon. */
export function zonesFrom(text: string): readonly ReadZone[] | undefined {
  const file = jsonOf(text);
  // In a whole GBFS document, the collection is at `data.geofencing_zones`.
  const collection = fieldOf(fieldOf(file, "data"), "geofencing_zones") ?? file;
  const features = fieldOf(collection, "type") === "FeatureCollection" ? fieldOf(collection, "features") : [collection];
  const zones = itemsOf(features)
    .filter((feature) => polygonsOf(feature).length > 0)
    .map((feature): ReadZone => {
      const properties = KNOWN.map((name) => [name, fieldOf(fieldOf(feature, "properties"), name)] as const);
      const given = properties.filter(([, value]) => value !== undefined && value !== null && value !== "");
      return { type: "Feature", geometry: multiPolygonFrom(feature), properties: Object.fromEntries(given) };
    });
  return zones.length === 0 ? undefined : zones;
}
