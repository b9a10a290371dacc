import type { StationMap } from "@bikeshare/contract/console";
import { useMemo } from "preact/hooks";
import { useSearchParams } from "wouter-preact";
import { ErrorState } from "../../components/error-state.tsx";
import { TextField } from "../../components/field.tsx";
import { Filters } from "../../components/filters.tsx";
import { AVAILABILITIES, availabilityLabels } from "../../components/map/availability.ts";
import { useLazy } from "../../components/use-lazy.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { useStations, type Viewer } from "../city/city-data.ts";
import { MapPanel } from "../city/map-panel.tsx";
import { stationPanel, useSelectedStation } from "../city/selected-station.ts";
import { readFilters, selectStations, type StationFilters, withFilters } from "./filters.ts";
import { StationTable } from "./station-table.tsx";

interface StationsViewProps {
  readonly viewer: Viewer;
  /** Returns the address of a station's page. */
  readonly addressOf: (id: string) => string;
}

/** All stations of a system, on a map and in a table, with the same filters for both. */
export function StationsView({ viewer, addressOf }: StationsViewProps) {
  const { data, error, refetch } = useStations(viewer);
  const [search, setSearch] = useSearchParams();
  const filters = readFilters(search);
  const stations = data?.data;
  // Each render reads new `filters` from the address, so the address's text tells whether they have changed.
  const selected = useMemo(() => selectStations(stations ?? [], filters), [stations, search.toString()]);
  const matching = useMemo(() => new Set(selected.map(({ id }) => id)), [selected]);
  // Only a turn of the page adds an entry to the browser's history.
  const change = (next: Partial<StationFilters>) =>
    setSearch((before) => withFilters(before, next), { replace: !("page" in next) });
  const [selectedId, select] = useSelectedStation();
  return (
    <>
      <PageHeader title="Stations" />
      {stations === undefined && error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <>
          <FilterBar
            filters={filters}
            onChange={change}
            count={stations === undefined ? "" : `${selected.length} of ${stations.length}`}
          />
          <MapWithPanel {...{ viewer, addressOf, matching, selectedId, select }} map={data} />
          <StationTable
            stations={stations === undefined ? undefined : selected}
            total={stations?.length ?? 0}
            filters={filters}
            onChange={change}
            selectedId={selectedId}
            onSelect={select}
            addressOf={addressOf}
          />
        </>
      )}
    </>
  );
}

interface MapWithPanelProps extends StationsViewProps {
  readonly map: StationMap | undefined;
  readonly matching: ReadonlySet<string>;
  readonly selectedId: string | undefined;
  readonly select: (id: string | undefined) => void;
}

function MapWithPanel({ viewer, addressOf, map, matching, selectedId, select }: MapWithPanelProps) {
  const StationPanel = useLazy(stationPanel);
  return (
    <div class={selectedId === undefined ? "stations-map" : "city-top"}>
      <MapPanel systemId={viewer.systemId} onSelect={select} hasLayers={false} {...{ map, matching, selectedId }} />
      {selectedId !== undefined && StationPanel && (
        <StationPanel
          key={selectedId}
          viewer={viewer}
          id={selectedId}
          map={map}
          href={addressOf(selectedId)}
          onClose={() => select(undefined)}
        />
      )}
    </div>
  );
}

interface FiltersProps {
  readonly filters: StationFilters;
  readonly onChange: (change: Partial<StationFilters>) => void;
  readonly count: string;
}

function FilterBar({ filters, onChange, count }: FiltersProps) {
  return (
    <Filters
      label="Stations"
      filters={[
        {
          name: "availability",
          label: "Availability",
          choices: AVAILABILITIES.map((value) => ({ value, label: availabilityLabels[value] })),
        },
      ]}
      values={{ availability: filters.availability }}
      onChange={({ availability }) => onChange({ availability: AVAILABILITIES.find((one) => one === availability) })}
      count={count}
    >
      <TextField
        label="Name or id"
        type="search"
        placeholder="Name or id"
        value={filters.q}
        onInput={(q) => onChange({ q })}
      />
    </Filters>
  );
}
