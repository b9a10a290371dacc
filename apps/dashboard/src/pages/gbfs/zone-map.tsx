import type { FactsOf } from "@bikeshare/contract/facts";
import { shortText } from "./fact-input.tsx";
import { lookOf, ruleInWords, zoneLooks } from "./zone-rules.ts";

export type Zone = NonNullable<FactsOf<"geofencing_zones">["features"]>[number];

interface Point {
  readonly lat: number;
  readonly lon: number;
}

interface ZoneMapProps {
  readonly zones: readonly Zone[];
  readonly stations: readonly Point[];
}

/** The size of the drawing; the browser scales it. */
const WIDTH = 800;
const MAX_HEIGHT = 600;
const MARGIN = 16;

/** The zones over the stations. Each zone is read out with its rule, and so is the list below. */
export function ZoneMap({ zones, stations }: ZoneMapProps) {
  const place = projection([...zones.flatMap(pointsOf), ...stations]);
  if (place === undefined) return null;
  return (
    <figure class="stack" style={{ margin: 0 }}>
      <svg
        class="zone-map"
        viewBox={`0 0 ${WIDTH} ${place.height}`}
        role="group"
        aria-label={`Map: ${zones.length} zones, ${stations.length} stations`}
      >
        {zones.map((zone, index) => {
          const name = nameOfZone(zone, index);
          const { rules } = zone.properties ?? {};
          return (
            <g key={index} role="img" tabIndex={0} aria-label={`${name}: ${ruleInWords(rules)}`}>
              <title>{`${name}: ${ruleInWords(rules)}`}</title>
              <path class={`zone zone-${lookOf(rules).id}`} fill-rule="evenodd" d={outline(zone, place.at)} />
            </g>
          );
        })}
        <g aria-hidden="true">
          {stations.map(({ lat, lon }, index) => {
            const [x, y] = place.at(lon, lat);
            return <circle key={index} class="station" cx={x} cy={y} r={3} />;
          })}
        </g>
      </svg>
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

/** Returns a zone's name, or its place in the list. */
export function nameOfZone(zone: Zone, index: number): string {
  return shortText(zone.properties?.name) ?? `Zone ${index + 1}`;
}

function pointsOf({ geometry }: Zone): Point[] {
  return (geometry?.coordinates ?? []).flat(2).map(([lon = 0, lat = 0]) => ({ lat, lon }));
}

type Place = (lon: number, lat: number) => readonly [x: number, y: number];

/** Returns where points are drawn; at the scale of a city a degree is as long everywhere. */
function projection(points: readonly Point[]): { readonly at: Place; readonly height: number } | undefined {
  if (points.length === 0) return undefined;
  const range = (values: readonly number[]) =>
    values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)] as const, [
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
    ] as readonly [number, number]);
  const [west, east] = range(points.map(({ lon }) => lon));
  const [south, north] = range(points.map(({ lat }) => lat));
  const narrowing = Math.cos((((south + north) / 2) * Math.PI) / 180);
  const width = Math.max((east - west) * narrowing, 1e-4);
  const tall = Math.max(north - south, 1e-4);
  const scale = Math.min((WIDTH - 2 * MARGIN) / width, (MAX_HEIGHT - 2 * MARGIN) / tall);
  const left = (WIDTH - width * scale) / 2;
  const at: Place = (lon, lat) => [
    round(left + (lon - west) * narrowing * scale),
    round(MARGIN + (north - lat) * scale),
  ];
  return { at, height: Math.ceil(tall * scale + 2 * MARGIN) };
}

const round = (value: number) => Math.round(value * 10) / 10;

function outline({ geometry }: Zone, at: Place): string {
  const rings = (geometry?.coordinates ?? []).flat(1);
  return rings.map((ring) => `M${ring.map(([lon = 0, lat = 0]) => at(lon, lat).join(" ")).join("L")}Z`).join("");
}
