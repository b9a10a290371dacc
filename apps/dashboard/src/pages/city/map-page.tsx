import type { Glance, MappedStation, StationMap } from "@bikeshare/contract/console";
import { useMemo, useState } from "preact/hooks";
import { ErrorState } from "../../components/error-state.tsx";
import { TextField } from "../../components/field.tsx";
import {
  AVAILABILITIES,
  type Availability,
  availabilityLabels,
  availabilityOf,
} from "../../components/map/availability.ts";
import { AvailabilityMark } from "../../components/map/legend.tsx";
import { useLazy } from "../../components/use-lazy.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { type PageScope, useOperatorScope } from "../scope.ts";
import { useGlance, useStations } from "./city-data.ts";
import { MapPanel } from "./map-panel.tsx";
import { Rewind, useInstant } from "./rewind.tsx";
import { stationPanel, useSelectedStation } from "./selected-station.ts";
import { CLOCK, cityText, DATE } from "./times.ts";
import "./map-page.css";

/** The operator's page with the map of the city, now or at an earlier instant (`at`). */
export function MapPage() {
  const scope = useOperatorScope();
  return scope === undefined ? <NotFoundPage /> : <CityMapPage scope={scope} />;
}

function CityMapPage({ scope }: { readonly scope: PageScope }) {
  const url = useUrlState();
  const [at, setAt] = useInstant();
  const glance = useGlance(scope.systemId);
  const stations = useStations(scope, at);
  const [selectedId, select] = useSelectedStation();
  // The address names the state of the stations to show. Undefined: all.
  const kind = AVAILABILITIES.find((one) => one === url.get("availability"));
  const list = stations.data?.data;
  const matching = useMemo(
    () =>
      kind === undefined ? undefined : new Set(list?.filter((one) => availabilityOf(one) === kind).map(({ id }) => id)),
    [list, kind],
  );
  const timeZone = glance.data?.time_zone;
  if (list === undefined && stations.error !== null)
    return <ErrorState isPage error={stations.error} onRetry={() => void stations.refetch()} />;
  return (
    <div class="map-page">
      <PageHeader title="Map">
        {at !== undefined && timeZone !== undefined && `As it was on ${cityText(at, timeZone, { ...DATE, ...CLOCK })}`}
      </PageHeader>
      <div class="map-page-body">
        <MapPanel
          systemId={scope.systemId}
          map={stations.data}
          matching={matching}
          selectedId={selectedId}
          onSelect={select}
          hasLayers={at === undefined}
          isWholePage
        >
          {timeZone !== undefined && <Rewind at={at} timeZone={timeZone} onChange={setAt} />}
        </MapPanel>
        <Beside {...{ scope, kind, selectedId, select, at }} map={stations.data} glance={glance.data} />
      </div>
    </div>
  );
}

interface BesideProps {
  readonly scope: PageScope;
  readonly map: StationMap | undefined;
  readonly kind: Availability | undefined;
  readonly selectedId: string | undefined;
  readonly select: (id: string | undefined) => void;
  /** The instant that the map shows; undefined: now. */
  readonly at: string | undefined;
  /** The present state of the city; undefined until it is loaded. */
  readonly glance: Glance | undefined;
}

/** The panel beside the map: the open station, or a list in which to find one. */
function Beside({ scope, map, kind, selectedId, select, at, glance }: BesideProps) {
  const url = useUrlState();
  const StationPanel = useLazy(stationPanel);
  if (selectedId === undefined)
    return (
      <StationFinder
        stations={map?.data}
        kind={kind}
        onKind={(next) => url.filter({ availability: next ?? "" })}
        onSelect={select}
      />
    );
  if (StationPanel === undefined) return null;
  return (
    <StationPanel
      key={selectedId}
      viewer={scope}
      id={selectedId}
      map={map}
      glance={glance}
      at={at}
      href={url.link(`/operator/stations/${encodeURIComponent(selectedId)}`)}
      onClose={() => select(undefined)}
    />
  );
}

interface FinderProps {
  readonly stations: readonly MappedStation[] | undefined;
  readonly kind: Availability | undefined;
  readonly onKind: (kind: Availability | undefined) => void;
  readonly onSelect: (id: string) => void;
}

/** Maximum stations in the list beside the map. */
const LISTED = 14;
const byName = new Intl.Collator("en", { numeric: true });

/** A list as an alternative to the map: finds a station by its name or id, and by its state. */
function StationFinder({ stations, kind, onKind, onSelect }: FinderProps) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const matching = (stations ?? [])
    .filter((station) => kind === undefined || availabilityOf(station) === kind)
    .filter(({ id, name }) => name.toLowerCase().includes(wanted) || id.toLowerCase() === wanted)
    .toSorted((one, other) => byName.compare(one.name, other.name));
  return (
    <aside class="card finder" aria-label="Stations">
      <TextField label="Station" type="search" value={text} onInput={setText} />
      <div class="finder-kinds" role="group" aria-label="State">
        {AVAILABILITIES.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === kind}
            onClick={() => onKind(one === kind ? undefined : one)}
          >
            <AvailabilityMark kind={one} />
            {availabilityLabels[one]}
          </button>
        ))}
      </div>
      <p class="muted" role="status">
        {matching.length.toLocaleString("en")} {matching.length === 1 ? "station" : "stations"}
      </p>
      <ul class="finder-list">
        {matching.slice(0, LISTED).map((station) => (
          <li key={station.id}>
            <button type="button" onClick={() => onSelect(station.id)}>
              <AvailabilityMark kind={availabilityOf(station)} />
              <span>{station.name}</span>
              <b>{station.bikes}</b>
            </button>
          </li>
        ))}
      </ul>
      {matching.length > LISTED && (
        <p class="muted">{(matching.length - LISTED).toLocaleString("en")} more: type a part of the name.</p>
      )}
    </aside>
  );
}
