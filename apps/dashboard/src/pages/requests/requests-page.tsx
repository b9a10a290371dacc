import type { RequestQuery } from "@bikeshare/contract/console";
import { useSearchParams } from "wouter-preact";
import { api } from "../../api/api.ts";
import { keepPreviousData, useQuery } from "../../api/queries.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { type PageScope, useOperatorScope, usePartnerScope, withParameter } from "../scope.ts";
import { readFilters, type RequestFilters, withFilters } from "./filters.ts";
import { LiveButton, useIsLive } from "./live-button.tsx";
import { RequestDetails } from "./request-details.tsx";
import { RequestFilterBar } from "./request-filters.tsx";
import { RequestTable } from "./request-table.tsx";
import { RequestsOverTime } from "./requests-over-time.tsx";
import "../facts.css";
import "./requests.css";

/** The page of a partner's requests. */
export function PartnerRequestsPage() {
  const scope = usePartnerScope();
  return scope === undefined ? <NotFoundPage /> : <Requests scope={scope} />;
}

/** The operator's page of all requests of a system. */
export function OperatorRequestsPage() {
  const scope = useOperatorScope();
  return scope === undefined ? <NotFoundPage /> : <Requests scope={scope} />;
}

/** Milliseconds between two reads of the newest requests. The service writes the log once a second. */
const LIVE_INTERVAL_MS = 2_000;

function Requests({ scope }: { readonly scope: PageScope }) {
  const [search, setSearch] = useSearchParams();
  const { paging } = useUrlState();
  const filters = readFilters(search);
  const cursor = search.get("cursor") ?? undefined;
  const openId = search.get("request") ?? undefined;
  // Only the newest requests are updated live, and not while the panel of one is open.
  const live = useIsLive(cursor === undefined && openId === undefined && filters.until === undefined);
  const keys = useKeys(scope);
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ["requests", scope.systemId, scope.partnerId, filters, cursor],
    queryFn: ({ signal }) => readRequests(scope, { ...filters, cursor } as RequestQuery, signal),
    refetchInterval: live.isLive ? LIVE_INTERVAL_MS : false,
    placeholderData: keepPreviousData,
  });
  const change = (next: RequestFilters) => setSearch((before) => withFilters(before, next), { replace: true });
  const open = (id: string | undefined) => setSearch((before) => withParameter(before, "request", id));
  const hasFilters = Object.keys(filters).length > 0;
  return (
    <>
      <PageHeader title="Requests" actions={<LiveButton live={live} />}>
        Kept for 7 days.
      </PageHeader>
      <RequestsOverTime scope={scope} keyId={filters.key_id} />
      <RequestFilterBar
        filters={filters}
        keys={keys}
        onChange={change}
        count={data === undefined ? "" : `${data.data.length} ${data.data.length === 1 ? "request" : "requests"}`}
        onFind={open}
      />
      <RequestTable
        page={data}
        error={error}
        onRetry={() => void refetch()}
        keys={keys}
        hasFilters={hasFilters}
        isPending={isPlaceholderData}
        onOpen={open}
        openId={openId}
        {...paging(data?.next_cursor)}
      />
      {openId !== undefined && (
        <RequestDetails key={openId} id={openId} scope={scope} keys={keys} onClose={() => open(undefined)} />
      )}
    </>
  );
}

function readRequests({ systemId, partnerId }: PageScope, query: RequestQuery, signal: AbortSignal) {
  return partnerId === undefined
    ? api.systemRequests.list({ params: { system_id: systemId }, query, signal })
    : api.partnerRequests.list({ params: { system_id: systemId, partner_id: partnerId }, query, signal });
}

/** Reads the keys, whose names the list shows. */
function useKeys({ systemId, partnerId }: PageScope) {
  const { data } = useQuery({
    queryKey: ["keys", systemId, partnerId],
    queryFn: ({ signal }) =>
      partnerId === undefined
        ? api.systemKeys.list({ params: { system_id: systemId }, signal })
        : api.partnerKeys.list({ params: { system_id: systemId, partner_id: partnerId }, signal }),
  });
  return data?.data ?? [];
}
