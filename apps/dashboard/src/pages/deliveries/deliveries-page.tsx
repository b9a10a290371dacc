import type { Delivery, ResendSelection } from "@bikeshare/contract/console";
import { keepPreviousData, useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { Link, useSearchParams } from "wouter-preact";
import { api } from "../../api/api.ts";
import { addressOf } from "../../api/client.ts";
import { routes } from "../../api/routes.generated.ts";
import { Button } from "../../components/button.tsx";
import { visibleControls } from "../../components/code.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Notice } from "../../components/notice.tsx";
import { Pager } from "../../components/pager.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { usePartnerAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { type FilterTexts, queryOf, readFilters, withCursor, withFilters } from "./filters.ts";
import { ResendDialog } from "./resend-dialog.tsx";
import { countDeliveries, failureWords, stateOf } from "./words.ts";
import "./deliveries.css";

/** A partner's deliveries: found by filters that stand in the address, and resent, some or all. */
export function DeliveriesPage() {
  const access = usePartnerAccess();
  return access === undefined ? <NotFoundPage /> : <DeliveryList access={access} />;
}

type PartnerAccess = NonNullable<ReturnType<typeof usePartnerAccess>>;

function DeliveryList({ access }: { readonly access: PartnerAccess }) {
  const [selection, setSelection] = useState<ResendSelection>();
  const { chosen, toggle, clear } = useChosen();
  const { params, filters, setFilters, list, onNext, onPrevious } = useDeliveryList(access, clear);
  const { data, error, refetch } = list;
  return (
    <div class="stack">
      <PageHeader title="Deliveries" actions={<ListActions csv={addressOf(CSV, params, filters)} list={list} />}>
        Every event that was sent to your webhook, or waits to be. Kept for 30 days.
      </PageHeader>
      <FilterBar filters={filters} onChange={setFilters} />
      {access.canChange && (
        <SelectionBar
          chosen={chosen}
          onResendChosen={() => setSelection({ ids: [...chosen] })}
          onResendAll={() => setSelection({ filters: queryOf(filters) })}
          onClear={clear}
        />
      )}
      <Table
        caption="Deliveries, newest first"
        rows={data?.data}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        columns={columnsFor(access.canChange ? { chosen, toggle } : undefined)}
        empty={<Nothing isFiltered={Object.keys(filters).length > 0} onClear={() => setFilters({})} />}
      />
      {data?.searched_to !== undefined && (
        <Notice tone="info">
          Searched back to <Time at={data.searched_to} />. “Older” goes on from there.
        </Notice>
      )}
      <Pager
        summary={data === undefined ? "" : `${countDeliveries(data.data.length)} on this page`}
        isPending={list.isPlaceholderData}
        onPrevious={onPrevious}
        onNext={onNext}
      />
      <ResendDialog
        selection={selection}
        params={params}
        onClose={() => {
          setSelection(undefined);
          clear();
        }}
      />
    </div>
  );
}

/** The route of the file with what the list shows. */
const CSV = routes.deliveries.export;

/** The page of the list that the address asks for. */
function useDeliveryList(access: PartnerAccess, onChange: () => void) {
  const [search, setSearch] = useSearchParams();
  const params = { system_id: access.systemId, partner_id: access.partnerId };
  const filters = readFilters(search);
  const cursor = search.get("cursor") ?? undefined;
  const list = useQuery({
    queryKey: ["deliveries", params, filters, cursor],
    queryFn: ({ signal }) => api.deliveries.list({ params, query: { ...queryOf(filters), cursor }, signal }),
    placeholderData: keepPreviousData,
  });
  const next = list.data?.next_cursor;
  return {
    params,
    filters,
    list,
    setFilters: (wanted: FilterTexts) => {
      onChange();
      setSearch(withFilters(search, wanted));
    },
    onPrevious: cursor === undefined ? undefined : () => history.back(),
    onNext: next === undefined ? undefined : () => setSearch(withCursor(search, next)),
  };
}

/** The deliveries that are ticked. */
function useChosen() {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  return {
    chosen,
    clear: () => setChosen(new Set()),
    toggle: (id: string) => {
      const next = new Set(chosen);
      if (!next.delete(id)) next.add(id);
      setChosen(next);
    },
  };
}

interface ListActionsProps {
  readonly csv: string;
  readonly list: { readonly isFetching: boolean; readonly refetch: () => Promise<unknown> };
}

function ListActions({ csv, list }: ListActionsProps) {
  return (
    <>
      <a class="button button-secondary" href={csv} download>
        CSV
      </a>
      <Button pending={list.isFetching} onClick={() => void list.refetch()}>
        Refresh
      </Button>
    </>
  );
}

interface SelectionBarProps {
  readonly chosen: ReadonlySet<string>;
  readonly onResendChosen: () => void;
  readonly onResendAll: () => void;
  readonly onClear: () => void;
}

function SelectionBar({ chosen, onResendChosen, onResendAll, onClear }: SelectionBarProps) {
  return (
    <div class="row" role="group" aria-label="Resend">
      <Button variant="primary" disabled={chosen.size === 0} onClick={onResendChosen}>
        Resend {chosen.size === 0 ? "selected" : countDeliveries(chosen.size)}
      </Button>
      <Button onClick={onResendAll}>Resend all that match …</Button>
      {chosen.size > 0 && (
        <Button variant="quiet" onClick={onClear}>
          Select none
        </Button>
      )}
    </div>
  );
}

interface Choosing {
  readonly chosen: ReadonlySet<string>;
  readonly toggle: (id: string) => void;
}

function columnsFor(choosing: Choosing | undefined): Column<Delivery>[] {
  const select: Column<Delivery> = {
    id: "select",
    title: "",
    cell: ({ id }) => (
      <input
        type="checkbox"
        aria-label={`Select ${id}`}
        checked={choosing?.chosen.has(id) === true}
        onChange={() => choosing?.toggle(id)}
      />
    ),
  };
  return [...(choosing === undefined ? [] : [select]), ...columns];
}

const columns: readonly Column<Delivery>[] = [
  {
    id: "status",
    title: "Status",
    cell: (row) => {
      const { tone, word } = stateOf(row);
      return <Status tone={tone}>{word}</Status>;
    },
  },
  {
    id: "delivery",
    title: "Delivery",
    cell: ({ id, event }) => (
      // Below the list's own address: the page knows whose it is.
      <Link
        href={`${location.pathname.replace(import.meta.env.BASE_URL.replace(/\/$/, ""), "")}/${id}${location.search}`}
      >
        <strong>{event}</strong>
        <span class="mono muted delivery-id">{id}</span>
      </Link>
    ),
  },
  {
    id: "result",
    title: "Latest result",
    cell: ({ code, failure, explanation }) => (
      <span class="delivery-result" title={visibleControls(explanation)}>
        {code !== null && <span class="mono">{code}</span>}
        {failure !== null && <span>{failureWords(failure)}</span>}
        {code === null && failure === null && <span class="muted">not tried yet</span>}
      </span>
    ),
  },
  { id: "attempts", title: "Attempts", align: "end", isSecondary: true, cell: ({ attempts }) => attempts },
  { id: "created", title: "Created", cell: ({ created_at: at }) => <Time at={at} /> },
  {
    id: "next",
    title: "Next attempt",
    isSecondary: true,
    cell: ({ next_attempt_at: at }) => <Time at={at} show="relative" none="–" />,
  },
];

function Nothing({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  if (isFiltered) {
    return (
      <EmptyState title="No delivery matches" action={<Button onClick={onClear}>Clear filters</Button>}>
        Deliveries are kept for 30 days.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No deliveries yet">
      As soon as something happens that your webhook is subscribed to, it stands here. The page of the webhook sends a
      test.
    </EmptyState>
  );
}
