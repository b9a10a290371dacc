import { useState } from "preact/hooks";
import { EmptyState } from "../../components/empty-state.tsx";
import { Pager } from "../../components/pager.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, type Sorting, Table } from "../../components/table.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { Time } from "../../components/time.tsx";
import { Example } from "./example.tsx";

interface Row {
  readonly id: string;
  readonly event: string;
  readonly at: string;
  readonly durationMs: number;
}

const rows: readonly Row[] = [
  { id: "del_01k3v8m2r7qa", event: "ride.ended", at: "2026-11-22T09:04:05.123Z", durationMs: 84 },
  { id: "del_01k3v8m2r7qb", event: "reservation.expired", at: "2026-11-22T09:03:41.004Z", durationMs: 1210 },
  { id: "del_01k3v8m2r7qc", event: "station.updated", at: "2026-11-22T09:02:10.900Z", durationMs: 57 },
];

const columns: readonly Column<Row>[] = [
  { id: "status", title: "Status", cell: () => <Status tone="success">Delivered</Status> },
  { id: "id", title: "Delivery", cell: ({ id }) => <span class="mono">{id}</span> },
  { id: "event", title: "Event", cell: ({ event }) => event, isSecondary: true },
  { id: "at", title: "Time", cell: ({ at }) => <Time at={at} />, sortable: true },
  { id: "duration", title: "Duration", cell: ({ durationMs }) => `${durationMs} ms`, align: "end", sortable: true },
];

/** The part of the page `/_components` (components-page.tsx) with a table in each of its states, tabs and a pager. */
export function TableExamples() {
  const [sorting, setSorting] = useState<Sorting>({ column: "at", direction: "descending" });
  const [tab, setTab] = useState("rows");
  const common = { caption: "Deliveries", columns, rowKey: ({ id }: Row) => id, sorting, onSort: setSorting };
  const empty = <EmptyState title="No delivery matches">Remove a filter to see more.</EmptyState>;
  return (
    <Example name="Table, Tabs, Pager">
      <Tabs
        label="States of a table"
        selected={tab}
        onSelect={setTab}
        tabs={[
          { id: "rows", label: "Rows", content: () => <Table {...common} rows={rows} empty={empty} /> },
          { id: "empty", label: "Empty", content: () => <Table {...common} rows={[]} empty={empty} /> },
          { id: "loading", label: "Loading", content: () => <Table {...common} rows={undefined} empty={empty} /> },
          {
            id: "error",
            label: "Error",
            content: () => (
              <Table
                {...common}
                rows={undefined}
                empty={empty}
                error={new Error("Not loaded")}
                onRetry={() => undefined}
              />
            ),
          },
        ]}
      />
      <Pager summary="3 deliveries" onNext={() => undefined} />
    </Example>
  );
}
