import type { MappedStation } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Icon } from "../../components/icon.tsx";
import { availabilityLabels, availabilityOf, closedReason } from "../../components/map/availability.ts";
import { AvailabilityMark } from "../../components/map/legend.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { PAGE_SIZE, type StationFilters } from "./filters.ts";
import "../../components/icon-button.css";
import "../facts.css";

interface StationTableProps {
  /** The stations that match the filters; undefined until they are loaded. */
  readonly stations: readonly MappedStation[] | undefined;
  readonly total: number;
  readonly filters: StationFilters;
  readonly onChange: (change: Partial<StationFilters>) => void;
  readonly selectedId: string | undefined;
  readonly onSelect: (id: string) => void;
  /** Returns the address of a station's page. */
  readonly addressOf: (id: string) => string;
}

/** A table as an alternative to the map, with the same stations in words and numbers. */
export function StationTable(props: StationTableProps) {
  const { stations, total, filters, onChange, selectedId, onSelect, addressOf } = props;
  const pageCount = Math.max(1, Math.ceil((stations?.length ?? 0) / PAGE_SIZE));
  const page = Math.min(filters.page, pageCount);
  return (
    <div class="stack">
      <Table
        caption="Stations"
        columns={columnsFor(onSelect, addressOf)}
        rows={stations?.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)}
        rowKey={({ id }) => id}
        isCurrent={({ id }) => id === selectedId}
        sorting={filters.sorting}
        onSort={(sorting) => onChange({ sorting })}
        empty={total === 0 ? <NoStations /> : <NoMatch onChange={onChange} />}
      />
      {stations !== undefined && stations.length > 0 && (
        <nav class="pager" aria-label="Pages of the table">
          <span class="muted" role="status">
            {summaryOf(stations.length, total, page, pageCount)}
          </span>
          {pageCount > 1 && (
            <span class="row">
              <Button disabled={page === 1} onClick={() => onChange({ page: page - 1 })}>
                <Icon name="chevronLeft" /> Previous
              </Button>
              <Button disabled={page === pageCount} onClick={() => onChange({ page: page + 1 })}>
                Next <Icon name="chevronRight" />
              </Button>
            </span>
          )}
        </nav>
      )}
    </div>
  );
}

function summaryOf(matching: number, total: number, page: number, pageCount: number): string {
  const stations = matching === total ? `${total} stations` : `${matching} of ${total} stations`;
  return pageCount === 1 ? stations : `${stations}, page ${page} of ${pageCount}`;
}

function NoStations() {
  return <EmptyState title="No stations yet">They appear here with the operator's first import or feed.</EmptyState>;
}

function NoMatch({ onChange }: Pick<StationTableProps, "onChange">) {
  return (
    <EmptyState
      title="No station matches"
      action={<Button onClick={() => onChange({ q: "", availability: undefined })}>Show all stations</Button>}
    />
  );
}

interface StationNameProps extends Pick<StationTableProps, "onSelect" | "addressOf"> {
  readonly id: string;
  readonly name: string;
}

function StationName({ id, name, onSelect, addressOf }: StationNameProps) {
  return (
    <>
      <Link href={addressOf(id)} title={id}>
        {name}
      </Link>{" "}
      <button type="button" class="icon-button" aria-label={`Show ${name} on the map`} onClick={() => onSelect(id)}>
        <Icon name="pin" />
      </button>
    </>
  );
}

function columnsFor(
  onSelect: (id: string) => void,
  addressOf: StationTableProps["addressOf"],
): readonly Column<MappedStation>[] {
  return [
    {
      id: "name",
      title: "Station",
      sortable: true,
      cell: ({ id, name }) => <StationName {...{ id, name, onSelect, addressOf }} />,
    },
    {
      id: "availability",
      title: "Availability",
      cell: (station) => (
        <span class="availability">
          <AvailabilityMark kind={availabilityOf(station)} />
          <span>
            {availabilityLabels[availabilityOf(station)]}
            {closedReason(station) !== undefined && <span class="muted">: {closedReason(station)}</span>}
          </span>
        </span>
      ),
    },
    { id: "bikes", title: "Bikes", align: "end", sortable: true, cell: ({ bikes }) => bikes },
    { id: "docks", title: "Docks", align: "end", sortable: true, isSecondary: true, cell: ({ docks }) => docks ?? "–" },
    { id: "capacity", title: "Capacity", align: "end", isSecondary: true, cell: ({ capacity }) => capacity ?? "–" },
    {
      id: "reported",
      title: "Reported",
      sortable: true,
      isSecondary: true,
      cell: ({ last_reported: at }) => <Time at={at} />,
    },
  ];
}
