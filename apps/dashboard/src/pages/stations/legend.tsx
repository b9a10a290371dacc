import type { JSX } from "preact";
import { AVAILABILITIES, type Availability, availabilityLabels } from "./availability.ts";

/** The legend of the map, with the number of stations for each mark. */
export function Legend({ counts }: { readonly counts: Readonly<Record<Availability, number>> }) {
  return (
    <ul class="legend">
      {AVAILABILITIES.map((kind) => (
        <li key={kind}>
          <AvailabilityMark kind={kind} />
          {availabilityLabels[kind]} <strong>{counts[kind].toLocaleString("en")}</strong>
        </li>
      ))}
    </ul>
  );
}

/** The map's icon for an availability, next to a text with the same meaning. */
export function AvailabilityMark({ kind }: { readonly kind: Availability }) {
  return (
    <svg class={`mark mark-${kind}`} viewBox="0 0 12 12" aria-hidden="true">
      {shapes[kind]}
    </svg>
  );
}

const ring = <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="2" />;
const shapes: Readonly<Record<Availability, JSX.Element>> = {
  bikes: <circle cx="6" cy="6" r="5.2" fill="currentColor" />,
  few: (
    <>
      {ring}
      <path d="M1.8 6a4.2 4.2 0 0 0 8.4 0z" fill="currentColor" />
    </>
  ),
  empty: ring,
  full: <rect x="1" y="1" width="10" height="10" fill="currentColor" />,
  closed: <path d="m2 2 8 8m0-8-8 8" fill="none" stroke="currentColor" stroke-width="2" />,
};
