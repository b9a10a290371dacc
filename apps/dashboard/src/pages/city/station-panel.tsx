import type { Glance, MappedStation, StationMap } from "@bikeshare/contract/console";
import { useEffect, useRef } from "preact/hooks";
import { ButtonLink } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Icon } from "../../components/icon.tsx";
import { lastingSince, type Viewer } from "./city-data.ts";
import { StationDay, StationFill } from "./station-view.tsx";
import "../../components/icon-button.css";

interface StationPanelProps {
  readonly viewer: Viewer;
  readonly id: string;
  /** The stations of the map; undefined until they are loaded. */
  readonly map: StationMap | undefined;
  /** The present state of the city, which says since when a station is empty or full. */
  readonly glance?: Glance | undefined;
  /** The instant that the map shows; undefined: now. */
  readonly at?: string | undefined;
  /** The address of the station's page. */
  readonly href: string;
  readonly onClose: () => void;
}

/** The panel beside the map: the state of a station, and its day. Renders nothing until the stations are loaded. */
export function StationPanel({ id, map, ...props }: StationPanelProps) {
  const station = map?.data.find((each) => each.id === id);
  return map && <LoadedPanel {...props} station={station} timeZone={map.time_zone} />;
}

interface LoadedPanelProps extends Omit<StationPanelProps, "id" | "map"> {
  /** Undefined: the map has no station with this id. */
  readonly station: MappedStation | undefined;
  readonly timeZone: string;
}

function LoadedPanel({ viewer, station, glance, timeZone, at, href, onClose }: LoadedPanelProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Moves the focus into the panel, so that keyboard users continue there.
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <aside class="card station-panel" aria-label="Station" onKeyDown={(event) => event.key === "Escape" && onClose()}>
      <header>
        <div>
          <h2 ref={heading} tabIndex={-1}>
            {station?.name ?? "Unknown station"}
          </h2>
          {station !== undefined && <p class="mono muted">{station.id}</p>}
        </div>
        <button type="button" class="icon-button" aria-label="Close the station" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {station === undefined ? (
        <EmptyState title="No such station">It was removed, or the address is wrong.</EmptyState>
      ) : (
        <>
          <StationFill
            station={station}
            since={at === undefined ? lastingSince(glance, station.id) : undefined}
            now={glance?.at}
          />
          <StationDay {...{ viewer, timeZone, at }} stationId={station.id} />
          <p>
            <ButtonLink href={href}>Open the station</ButtonLink>
          </p>
        </>
      )}
    </aside>
  );
}
