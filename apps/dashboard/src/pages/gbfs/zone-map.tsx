import type { StationMap } from "@bikeshare/contract/console";
import type { FactsOf } from "@bikeshare/contract/facts";
import { useMemo } from "preact/hooks";
import { LazyMap } from "../../components/lazy-map.tsx";
import type { MappedZone } from "../../components/map/city-map.tsx";
import { shortText } from "./fact-input.tsx";
import { lookOf, zoneLooks } from "./zone-rules.ts";

/** A zone as GBFS describes it: a GeoJSON feature with its polygons, name and rules. */
export type Zone = NonNullable<FactsOf<"geofencing_zones">["features"]>[number];

interface ZoneMapProps {
  readonly zones: readonly Zone[];
  /** The stations; undefined until they are loaded. */
  readonly map: StationMap | undefined;
}

/**
 * The colour of a zone on the map, by the id of its look (zone-rules.ts). The colours are named after stations' states.
 */
const tones: Readonly<Record<string, MappedZone["tone"]>> = {
  closed: "empty",
  "no-end": "few",
  stations: "accent",
  slow: "full",
  open: "bikes",
};

/** A map of the zones over the city. The list below the map names each zone with its rule, also for screen readers. */
export function ZoneMap({ zones, map }: ZoneMapProps) {
  const drawn = useMemo(() => zones.map(drawnZone), [zones]);
  return (
    <figure class="stack zone-map">
      <LazyMap label="Map of the zones" map={map} zones={drawn} />
      <figcaption>
        <ul class="zone-legend" aria-label="Legend">
          {zoneLooks.map(({ id, title }) => (
            <li key={id}>
              <svg viewBox="0 0 24 14" aria-hidden="true">
                <rect class={`zone-${id}`} fill-opacity="0.25" stroke-width="2" x="1" y="1" width="22" height="12" />
              </svg>{" "}
              {title}
            </li>
          ))}
          <li>
            <svg viewBox="0 0 24 14" aria-hidden="true">
              <circle fill="currentColor" cx="12" cy="7" r="3" />
            </svg>{" "}
            Station
          </li>
        </ul>
      </figcaption>
    </figure>
  );
}

/** Returns a zone's name, or `Zone 2` by its position in the list. */
export function nameOfZone(zone: Zone, index: number): string {
  return shortText(zone.properties?.name) ?? `Zone ${index + 1}`;
}

function drawnZone({ geometry, properties }: Zone): MappedZone {
  const rings = (geometry?.coordinates ?? []).flat(1);
  const look = lookOf(properties?.rules).id;
  return {
    rings: rings.map((ring) => ring.map(([lon = 0, lat = 0]) => ({ lat, lon }))),
    tone: tones[look] ?? "accent",
    // A solid border marks the zones that riders must not enter.
    isDashed: look !== "closed",
  };
}
