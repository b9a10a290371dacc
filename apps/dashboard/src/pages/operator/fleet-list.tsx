import { keepPreviousData, useQuery } from "@tanstack/preact-query";
import type { ComponentChildren } from "preact";
import { EmptyState } from "../../components/empty-state.tsx";
import { Pager } from "../../components/pager.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";

interface FleetPage<Row> {
  readonly data: readonly Row[];
  readonly total?: number | undefined;
  readonly next_cursor?: string | undefined;
}

interface FleetListProps<Row> {
  readonly title: string;
  readonly about: string;
  readonly filters: ComponentChildren;
  /** What the answer depends on. */
  readonly scope: readonly unknown[];
  readonly read: (signal: AbortSignal) => Promise<FleetPage<Row>>;
  readonly columns: readonly Column<Row>[];
  readonly isByTime: boolean;
}

/** A page with a filtered list of the fleet. */
export function FleetList<Row extends { readonly id: string }>(props: FleetListProps<Row>) {
  const { title, about, filters, scope, read, columns, isByTime } = props;
  const url = useUrlState();
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ["fleet", title, ...scope],
    queryFn: ({ signal }) => read(signal),
    placeholderData: keepPreviousData,
  });
  return (
    <div class="stack">
      <PageHeader title={title}>{about}</PageHeader>
      <search class="filters" aria-label="Filters">
        {filters}
      </search>
      <h2 class="visually-hidden">The list</h2>
      <Table
        caption={title}
        columns={columns}
        rows={data?.data}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="Nothing matches">Take a filter away to see more.</EmptyState>}
      />
      <Pager summary={summary(data)} isPending={isFetching} isByTime={isByTime} {...url.paging(data?.next_cursor)} />
    </div>
  );
}

function summary(page: FleetPage<unknown> | undefined): string {
  if (page === undefined) return "";
  const shown = page.data.length.toLocaleString("en");
  return page.total === undefined ? `${shown} shown` : `${shown} of ${page.total.toLocaleString("en")}`;
}
