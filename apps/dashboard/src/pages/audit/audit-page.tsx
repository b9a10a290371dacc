import { api } from "../../api/api.ts";
import { keepPreviousData, useQuery } from "../../api/queries.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { type Filter, Filters } from "../../components/filters.tsx";
import { Notice } from "../../components/notice.tsx";
import { Pager } from "../../components/pager.tsx";
import { Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { useOperatorAccess, usePartnerAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { actColumns } from "./act-columns.tsx";

/** The parameters of the address that both audit logs pass to the service. The operator's has more. */
const commonParameters = ["action", "subject", "since", "until", "cursor"] as const;

/** The operator's audit log. */
export function OperatorAuditPage() {
  const access = useOperatorAccess();
  const { given } = useUrlState();
  if (access === undefined) return <NotFoundPage />;
  const params = { system_id: access.systemId };
  const query = given([...commonParameters, "actor", "partner_id"]);
  return (
    <AuditLog
      scope={[access.systemId, query]}
      read={(signal) => api.systemAudit.list({ params, query, signal })}
      isOperatorLog
      about="Who changed what."
    />
  );
}

/** A partner's audit log. */
export function PartnerAuditPage() {
  const access = usePartnerAccess();
  const { given } = useUrlState();
  if (access === undefined) return <NotFoundPage />;
  const params = { system_id: access.systemId, partner_id: access.partnerId };
  const query = given(commonParameters);
  return (
    <AuditLog
      scope={[access.systemId, access.partnerId, query]}
      read={(signal) => api.partnerAudit.list({ params, query, signal })}
      isOperatorLog={false}
      about="By your team and by the operator, with the operator’s visits to these pages."
    />
  );
}

interface AuditLogProps {
  /** The parameters that the response depends on, as a part of the cache key. */
  readonly scope: readonly unknown[];
  readonly read: (signal: AbortSignal) => ReturnType<typeof api.systemAudit.list>;
  /** True: the operator's log of all partners, with its filters and links. False: a partner's log. */
  readonly isOperatorLog: boolean;
  readonly about: string;
}

function AuditLog({ scope, read, isOperatorLog, about }: AuditLogProps) {
  const url = useUrlState();
  const offered = isOperatorLog ? operatorFilters : filters;
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ["audit", ...scope],
    queryFn: ({ signal }) => read(signal),
    placeholderData: keepPreviousData,
  });
  return (
    <div class="stack">
      <PageHeader title="Audit log">{about}</PageHeader>
      <Filters
        label="Filters"
        filters={offered}
        values={url.given(offered.map(({ name }) => name))}
        onChange={url.filter}
        count={data === undefined ? "" : `${data.data.length} shown`}
      />
      <h2 class="visually-hidden">The list</h2>
      <Table
        caption="Entries, newest first"
        columns={actColumns(isOperatorLog ? url : undefined)}
        rows={data?.data}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="Nothing matches">Remove a filter, or choose another time.</EmptyState>}
      />
      {data?.searched_to !== undefined && (
        <Notice tone="info">
          Searched back to <Time at={data.searched_to} />. “Older” goes further.
        </Notice>
      )}
      <Pager summary="" isPending={isFetching} {...url.paging(data?.next_cursor)} />
    </div>
  );
}

/** The filters that a partner's page offers. */
const filters: readonly Filter[] = [
  { name: "action", label: "Action", placeholder: "key.issued" },
  { name: "subject", label: "Subject", placeholder: "an id" },
  { name: "since", label: "From", isInstant: true },
  { name: "until", label: "Until", isInstant: true },
];

/** The filters that the operator's page offers. */
const operatorFilters: readonly Filter[] = [
  { name: "actor", label: "Who", placeholder: "mail address, or cli" },
  ...filters,
  { name: "partner_id", label: "Partner", placeholder: "a partner’s id" },
];
