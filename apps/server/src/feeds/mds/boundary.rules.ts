import type { MultiPolygon } from "@bikeshare/contract";
import { readFactValue } from "../../city/descriptions/fact-values.rules.ts";
import { isObject } from "../gbfs/values.ts";

/**
 * Returns the area that a GeoJSON document draws: a polygon, several, or the features of a collection.
 * @throws FactIssue for anything else, and for what zones may not be either: rings that are open, cross or are too long
 */
export function boundaryFrom(document: unknown): MultiPolygon {
  const coordinates = geometriesOf(document).flatMap(polygonsOf);
  const drawn: MultiPolygon | undefined = coordinates.length > 0 ? { type: "MultiPolygon", coordinates } : undefined;
  return readFactValue({ kind: "multiPolygon" }, drawn, "boundary", "en") as MultiPolygon; // checks the form itself
}

function geometriesOf(document: unknown): readonly unknown[] {
  if (!isObject(document)) return [];
  const { type, features, geometry } = document;
  if (type === "FeatureCollection") return Array.isArray(features) ? features.flatMap(geometriesOf) : [];
  return [type === "Feature" ? geometry : document];
}

/** What is no polygon stays in the list, for the check to refuse it. */
function polygonsOf(geometry: unknown): MultiPolygon["coordinates"] {
  const { type, coordinates } = isObject(geometry) ? geometry : {};
  const polygons: unknown = type === "Polygon" ? [coordinates] : coordinates;
  const isDrawn = Array.isArray(polygons) && (type === "Polygon" || type === "MultiPolygon");
  return (isDrawn ? polygons : [null]) as MultiPolygon["coordinates"];
}
