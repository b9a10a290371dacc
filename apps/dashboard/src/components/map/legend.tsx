import type { JSX } from "preact";
import { AVAILABILITIES, type Availability, availabilityLabels, availabilityOf, type Counted } from "./availability.ts";
import "./legend.css";

/** The legend of the map, with the number of stations for each mark. */
export function Legend({ stations }: { readonly stations: readonly Counted[] }) {
  const kinds = stations.map(availabilityOf);
  return (
    <ul class="legend" aria-label="Legend">
      {AVAILABILITIES.map((kind) => (
        <li key={kind}>
          <AvailabilityMark kind={kind} />
          {availabilityLabels[kind]}{" "}
          <strong>{kinds.filter((each) => each === kind).length.toLocaleString("en")}</strong>
        </li>
      ))}
    </ul>
  );
}

/** The map's icon for an availability, next to a text with the same meaning. */
export function AvailabilityMark({ kind }: { readonly kind: Availability }) {
  return (
    <svg class={`mark mark-${kind}`} viewBox="0 0 14 14" aria-hidden="true">
      {shapes[kind]}
    </svg>
  );
}

/**
 * Returns a circle that is filled from its bottom up to a horizontal line.
 * @param offset how far the line is below the middle of the circle; negative: above it
 */
const dish = (offset: number) => {
  const half = Math.sqrt(5.25 ** 2 - offset ** 2);
  return (
    <>
      <circle cx="7" cy="7" r="5.25" fill="currentColor" fill-opacity="0.15" stroke="currentColor" stroke-width="1.5" />
      <path
        // The arc below the line. It is the larger one of the circle's two arcs if the line is above the middle.
        d={`M${7 - half} ${7 + offset}A5.25 5.25 0 ${offset < 0 ? 1 : 0} 0 ${7 + half} ${7 + offset}Z`}
        fill="currentColor"
      />
    </>
  );
};
const shapes: Readonly<Record<Availability, JSX.Element>> = {
  bikes: dish(-1.5),
  few: dish(2.5),
  empty: <circle cx="7" cy="7" r="5" fill="none" stroke="currentColor" stroke-width="2" />,
  full: <rect x="2" y="2" width="10" height="10" rx="2" fill="currentColor" />,
  closed: <path d="m3 3 8 8m0-8-8 8" fill="none" stroke="currentColor" stroke-width="2" />,
};
