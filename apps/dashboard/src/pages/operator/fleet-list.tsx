import type { FleetNames } from "@bikeshare/contract/console";
import type { ComponentChildren } from "preact";
import { useParams } from "wouter-preact";
import { keepPreviousData, useQuery } from "../../api/queries.ts";
import { Sentence } from "../../components/code.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { type Filter, Filters } from "../../components/filters.tsx";
import { Pager } from "../../components/pager.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";

interface FleetPage<Row> {
  readonly data: readonly Row[];
  /** The names of the stations and the numbers of the bikes in the rows, by id. */
  readonly names?: FleetNames;
  readonly total?: number | undefined;
  readonly next_cursor?: string | undefined;
}

interface FleetListProps<Row> {
  readonly title: string;
  /** A sentence that adds to the title. */
  readonly about?: string;
  readonly filters?: readonly Filter[];
  /** What an empty list without filters says. Default: that there is nothing yet. */
  readonly empty?: string;
  /** The parameters that the response depends on, as a part of the cache key. */
  readonly scope: readonly unknown[];
  readonly read: (signal: AbortSignal) => Promise<FleetPage<Row>>;
  readonly columns: (names: FleetNames) => readonly Column<Row>[];
  /** Whether the list is sorted by time, which the pager's buttons then say. */
  readonly isByTime: boolean;
  /** Renders actions for the shown rows. */
  readonly actions?: (rows: readonly Row[]) => ComponentChildren;
  /** Content between the title and the list. */
  readonly children?: ComponentChildren;
}

const NO_NAMES: FleetNames = { stations: {}, bikes: {} };

/** A page with a list of bikes, rides, reservations or imports. The address has its filters and its cursor. */
export function FleetList<Row extends { readonly id: string }>(props: FleetListProps<Row>) {
  const { title, about, filters, empty, scope, read, columns, isByTime, actions } = props;
  const url = useUrlState();
  const { id: openId } = useParams<{ id?: string }>();
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ["fleet", title, ...scope],
    queryFn: ({ signal }) => read(signal),
    placeholderData: keepPreviousData,
  });
  const values = url.given((filters ?? []).map(({ name }) => name));
  const isFiltered = Object.keys(values).length > 0;
  return (
    <div class="stack">
      <PageHeader title={title} actions={data !== undefined && data.data.length > 0 && actions?.(data.data)}>
        {about === undefined ? undefined : <Sentence>{about}</Sentence>}
      </PageHeader>
      {props.children}
      {filters !== undefined && (
        <Filters label="Filters" filters={filters} values={values} onChange={url.filter} count={summary(data)} />
      )}
      <h2 class="visually-hidden">The list</h2>
      <Table
        caption={title}
        columns={columns(data?.names ?? NO_NAMES)}
        rows={data?.data}
        rowKey={({ id }) => id}
        isCurrent={({ id }) => id === openId}
        error={error}
        onRetry={() => void refetch()}
        empty={
          isFiltered ? (
            <EmptyState title="Nothing matches">Remove a filter to see more.</EmptyState>
          ) : (
            <EmptyState title={empty ?? `No ${title.toLowerCase()} yet`} />
          )
        }
      />
      <Pager
        summary={filters === undefined ? summary(data) : ""}
        isPending={isFetching}
        isByTime={isByTime}
        {...url.paging(data?.next_cursor)}
      />
    </div>
  );
}

function summary(page: FleetPage<unknown> | undefined): string {
  if (page === undefined) return "";
  const shown = page.data.length.toLocaleString("en");
  return page.total === undefined ? `${shown} shown` : `${shown} of ${page.total.toLocaleString("en")}`;
}
