import type { ResendSelection, Webhook } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { useSearch, useSearchParams } from "wouter-preact";
import { api } from "../../api/api.ts";
import { addressOf } from "../../api/client.ts";
import { ApiError } from "../../api/errors.ts";
import { keepPreviousData, useQuery } from "../../api/queries.ts";
import { routes } from "../../api/routes.generated.ts";
import { Button, ButtonLink } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { SelectField } from "../../components/field.tsx";
import { LiveButton } from "../../components/live-button.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Pager } from "../../components/pager.tsx";
import { Time } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { usePartnerAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { withParameter } from "../scope.ts";
import { DeliveryTable } from "./delivery-table.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { type FilterTexts, queryOf, readFilters, withFilters } from "./filters.ts";
import { useLive } from "./live.ts";
import { DeliveriesOverTime } from "./over-time.tsx";
import { ResendDialog } from "./resend-dialog.tsx";
import { countDeliveries } from "./words.ts";
import "./deliveries.css";

/** The route that exports the list as CSV. */
const CSV_ROUTE = routes.deliveries.export;

/**
 * The page of a partner's deliveries. The address contains the filters. Selected or all matching deliveries can be resent.
 */
export function DeliveriesPage() {
  const access = usePartnerAccess();
  return access === undefined ? <NotFoundPage /> : <WebhookDeliveries access={access} />;
}

type PartnerAccess = NonNullable<ReturnType<typeof usePartnerAccess>>;

/**
 * Reads the webhooks before their deliveries, because the service answers 404 for the deliveries of a partner that never
 * had a webhook.
 */
function WebhookDeliveries({ access }: { readonly access: PartnerAccess }) {
  const params = { system_id: access.systemId, partner_id: access.partnerId };
  const { data, error, refetch } = useQuery({
    queryKey: ["webhook", params],
    queryFn: ({ signal }) => api.webhook.list({ params, signal }),
  });
  const wanted = new URLSearchParams(useSearch()).get("endpoint");
  if (data === undefined) {
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  }
  const webhooks = data.data;
  if (wanted === null && webhooks.length === 0) return <NoWebhook access={access} />;
  // The address may name a removed webhook: its deliveries can be read as long as they are kept.
  const endpointId = wanted ?? (webhooks.length === 1 ? webhooks[0]?.id : undefined);
  // The key clears the selection of rows when another webhook is chosen.
  return <DeliveryList key={endpointId} access={access} endpointId={endpointId} webhooks={webhooks} />;
}

interface DeliveryListProps {
  readonly access: PartnerAccess;
  /** Undefined: the deliveries of all webhooks. */
  readonly endpointId: string | undefined;
  readonly webhooks: readonly Webhook[];
}

/** The list with its chart, filters, selection of rows and pages. */
function DeliveryList({ access, endpointId, webhooks }: DeliveryListProps) {
  // The deliveries that the resend dialog asks about. Undefined: the dialog is closed.
  const [toResend, setToResend] = useState<ResendSelection>();
  const { chosen, toggle, clear } = useChosen();
  const shown = useDeliveryList(access, endpointId, clear, chosen.size > 0);
  const { target, filters, setFilters, list, live, onNext, onPrevious } = shown;
  const { data, error, refetch } = list;
  const { mayResend, client } = resendingBy(access);
  // One resend covers one webhook, so rows can be selected only when one webhook is shown.
  const mayChoose = mayResend && endpointId !== undefined;
  // The address names a webhook that never existed, or whose deliveries are no longer kept.
  if (error instanceof ApiError && error.code === "not_found") return <NoWebhook access={access} />;
  return (
    <div class="stack">
      <ListHeader {...{ target, filters, list, live, webhooks }} />
      <DeliveriesOverTime target={target} filters={filters} onFilter={setFilters} />
      <FilterBar
        filters={filters}
        onChange={setFilters}
        count={data === undefined ? "" : `${countDeliveries(data.data.length)} on this page`}
      />
      {mayChoose && <SelectionBar chosen={chosen} onResend={setToResend} filters={filters} onClear={clear} />}
      {mayResend && !mayChoose && <p class="muted">To resend many at once, choose a webhook.</p>}
      {live.isWaiting && <ChangesNotice onShow={live.showWaiting} />}
      <DeliveryTable
        deliveries={data?.data}
        error={error}
        onRetry={() => void refetch()}
        choosing={mayChoose ? { chosen, toggle } : undefined}
        hasWebhooks={endpointId === undefined}
        isFiltered={Object.keys(filters).length > 0}
        onClear={() => setFilters({})}
      />
      {data?.searched_to !== undefined && <SearchedNotice to={data.searched_to} />}
      <Pager summary="" isPending={list.isPlaceholderData} onPrevious={onPrevious} onNext={onNext} />
      <ResendDialog
        selection={toResend}
        client={client}
        target={target}
        onClose={() => {
          setToResend(undefined);
          clear();
        }}
      />
    </div>
  );
}

/**
 * Returns whether the reader may resend, and with which calls. The operator's admins may resend too, as the partner's admins
 * may.
 */
function resendingBy({ membership: { role, partner_id: partnerId } }: PartnerAccess) {
  return { mayResend: role === "admin", client: partnerId === null ? api.systemResends : api.resends };
}

/** The placeholder for a partner without a webhook. */
function NoWebhook({ access: { partnerId, canChange } }: { readonly access: PartnerAccess }) {
  const system = new URLSearchParams(useSearch()).get("system");
  const webhook = `/partners/${encodeURIComponent(partnerId)}/webhook${system === null ? "" : `?system=${encodeURIComponent(system)}`}`;
  return (
    <div class="stack">
      <PageHeader title="Deliveries" />
      <EmptyState
        title="No webhook yet"
        action={<ButtonLink href={webhook}>{canChange ? "Set an address" : "To the webhook"}</ButtonLink>}
      >
        Deliveries to your address will appear here, with your server’s responses.
      </EmptyState>
    </div>
  );
}

interface ListHeaderProps extends Pick<DeliveryListProps, "webhooks"> {
  readonly target: ReturnType<typeof useDeliveryList>["target"];
  readonly filters: FilterTexts;
  readonly list: ListActionsProps["list"];
  readonly live: { readonly isLive: boolean; readonly setLive: (isLive: boolean) => void };
}

function ListHeader({ target, filters, list, live, webhooks }: ListHeaderProps) {
  const csv = addressOf(CSV_ROUTE, target.params, { ...target.query, ...filters });
  return (
    <>
      <PageHeader
        title="Deliveries"
        actions={<ListActions csv={csv} list={list} isLive={live.isLive} onLive={live.setLive} />}
      >
        Kept for 30 days.
      </PageHeader>
      <WebhookChoice webhooks={webhooks} endpointId={target.query.endpoint_id} />
    </>
  );
}

/** Chooses the webhook whose deliveries are shown. Renders nothing if the partner's only webhook is shown. */
function WebhookChoice({ webhooks, endpointId }: Omit<DeliveryListProps, "access">) {
  const [search, setSearch] = useSearchParams();
  if (webhooks.length < 2 && webhooks[0]?.id === endpointId) return null;
  const isKnown = endpointId === undefined || webhooks.some(({ id }) => id === endpointId);
  const others = isKnown ? [] : [{ value: endpointId, label: "A removed webhook" }];
  const choose = (id: string) => {
    const next = withParameter(search, "endpoint", id);
    next.delete("cursor");
    setSearch(next);
  };
  return (
    <div class="webhook-choice">
      <SelectField
        label="Webhook"
        value={endpointId ?? ""}
        choices={[
          { value: "", label: "All webhooks" },
          ...webhooks.map(({ id, name }) => ({ value: id, label: name })),
          ...others,
        ]}
        onChange={choose}
      />
    </div>
  );
}

function ChangesNotice({ onShow }: { readonly onShow: () => void }) {
  return (
    <Notice tone="info" actions={<Button onClick={onShow}>Show them</Button>}>
      Deliveries have changed. The list waits while you have rows selected or have scrolled down.
    </Notice>
  );
}

function SearchedNotice({ to }: { readonly to: string }) {
  return (
    <Notice tone="info">
      Searched back to <Time at={to} />. “Older” goes on from there.
    </Notice>
  );
}

/**
 * Reads the page of the list that the address asks for, and returns it with its filters, paging and live updates.
 * @param onChange called before the filters change
 * @param hasSelection whether rows are selected: the shown rows must then not change
 */
function useDeliveryList(
  access: PartnerAccess,
  endpointId: string | undefined,
  onChange: () => void,
  hasSelection: boolean,
) {
  const [search, setSearch] = useSearchParams();
  const { paging } = useUrlState();
  const target = {
    params: { system_id: access.systemId, partner_id: access.partnerId },
    query: endpointId === undefined ? {} : { endpoint_id: endpointId },
  };
  const filters = readFilters(search);
  const cursor = search.get("cursor") ?? undefined;
  const list = useQuery({
    queryKey: ["deliveries", target, filters, cursor],
    queryFn: ({ signal }) =>
      api.deliveries.list({ ...target, query: { ...target.query, ...queryOf(filters), cursor }, signal }),
    placeholderData: keepPreviousData,
  });
  const [isLive, setLive] = useState(true);
  const refresh = () => void list.refetch();
  // Only the first page is updated live, because new rows appear only there.
  const live = useLive({ target, isOn: isLive && cursor === undefined, hasSelection, refresh });
  return {
    target,
    filters,
    list,
    live: { isLive, setLive, ...live },
    setFilters: (wanted: FilterTexts) => {
      onChange();
      setSearch(withFilters(search, wanted));
    },
    ...paging(list.data?.next_cursor),
  };
}

/** Holds the ids of the selected deliveries. */
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
  readonly isLive: boolean;
  readonly onLive: (isLive: boolean) => void;
}

function ListActions({ csv, list, isLive, onLive }: ListActionsProps) {
  return (
    <>
      <LiveButton isLive={isLive} onLive={onLive} />
      <Button pending={list.isFetching} onClick={() => void list.refetch()}>
        Refresh
      </Button>
      <a class="button button-secondary" href={csv} download>
        CSV
      </a>
    </>
  );
}

interface SelectionBarProps {
  readonly chosen: ReadonlySet<string>;
  readonly filters: FilterTexts;
  readonly onResend: (selection: ResendSelection) => void;
  readonly onClear: () => void;
}

function SelectionBar({ chosen, filters, onResend, onClear }: SelectionBarProps) {
  return (
    <div class="row" role="group" aria-label="Resend">
      <Button
        variant={chosen.size === 0 ? "secondary" : "primary"}
        disabled={chosen.size === 0}
        onClick={() => onResend({ ids: [...chosen] })}
      >
        Resend {chosen.size === 0 ? "selected" : countDeliveries(chosen.size)}
      </Button>
      <Button onClick={() => onResend({ filters: queryOf(filters) })}>Resend all that match …</Button>
      {chosen.size > 0 && (
        <Button variant="quiet" onClick={onClear}>
          Select none
        </Button>
      )}
    </div>
  );
}
