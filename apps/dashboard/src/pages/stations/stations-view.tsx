import type { MappedStation, StationMap as Stations } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { useMemo } from "preact/hooks";
import { useSearchParams } from "wouter-preact";
import { ErrorState } from "../../components/error-state.tsx";
import { TextField } from "../../components/field.tsx";
import { Filters } from "../../components/filters.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { withParameter } from "../scope.ts";
import { AVAILABILITIES, type Availability, availabilityLabels, availabilityOf } from "./availability.ts";
import { readFilters, selectStations, type StationFilters, withFilters } from "./filters.ts";
import { Legend } from "./legend.tsx";
import { StationMap } from "./station-map.tsx";
import { StationTable } from "./station-table.tsx";
import "./stations.css";

/** Milliseconds between two reads of the stations. They have an ETag, so that an unchanged answer costs little. */
const POLL_INTERVAL_MS = 10_000;

interface StationsViewProps {
  /** The owner of the stations, under which they are cached. */
  readonly scope: object;
  readonly read: (signal: AbortSignal) => Promise<Stations>;
  /** The address of a station's own page, for those who have one. */
  readonly addressOf?: (id: string) => string;
}

/** All stations of a system, on a map and in a table, with the same filters for both. */
export function StationsView({ scope, read, addressOf }: StationsViewProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["stations", scope],
    queryFn: ({ signal }) => read(signal),
    refetchInterval: POLL_INTERVAL_MS,
  });
  const [search, setSearch] = useSearchParams();
  const filters = readFilters(search);
  const stations = data?.data;
  const selected = useMemo(() => selectStations(stations ?? [], filters), [stations, search.toString()]);
  const matching = useMemo(() => new Set(selected.map(({ id }) => id)), [selected]);
  const change = (next: Partial<StationFilters>) =>
    setSearch((before) => withFilters(before, next), { replace: !("page" in next) });
  const selectedId = search.get("station") ?? undefined;
  const select = (id: string | undefined) =>
    setSearch((before) => withParameter(before, "station", id), { replace: true });
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
          <section class="card map-card" aria-label="Map">
            <StationMap stations={stations ?? []} matching={matching} selectedId={selectedId} onSelect={select} />
            <Legend counts={countsOf(stations ?? [])} />
          </section>
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

function countsOf(stations: readonly MappedStation[]): Readonly<Record<Availability, number>> {
  const counts = { bikes: 0, few: 0, empty: 0, full: 0, closed: 0 };
  for (const station of stations) counts[availabilityOf(station)] += 1;
  return counts;
}
