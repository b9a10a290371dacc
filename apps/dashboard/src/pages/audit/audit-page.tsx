import { keepPreviousData, useQuery } from "@tanstack/preact-query";
import { api } from "../../api/api.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { instantOf, localInput } from "../../components/instant-input.ts";
import { Notice } from "../../components/notice.tsx";
import { Pager } from "../../components/pager.tsx";
import { Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { useOperatorAccess, usePartnerAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { FilterField } from "../operator/filter-field.tsx";
import { actColumns } from "./act-columns.tsx";

/** The filters of every list of audit entries. */
const partnerFilters = ["action", "subject", "since", "until", "cursor"] as const;

/** The operator's audit log. */
export function OperatorAuditPage() {
  const access = useOperatorAccess();
  const { given } = useUrlState();
  if (access === undefined) return <NotFoundPage />;
  const params = { system_id: access.systemId };
  const query = given([...partnerFilters, "actor", "partner_id"]);
  return (
    <AuditLog
      scope={[access.systemId, query]}
      read={(signal) => api.systemAudit.list({ params, query, signal })}
      isOperators
      about="Every change to partners, people, keys, webhooks, systems and imports, and who made it."
    />
  );
}

/** A partner's audit log. */
export function PartnerAuditPage() {
  const access = usePartnerAccess();
  const { given } = useUrlState();
  if (access === undefined) return <NotFoundPage />;
  const params = { system_id: access.systemId, partner_id: access.partnerId };
  const query = given(partnerFilters);
  return (
    <AuditLog
      scope={[access.systemId, access.partnerId, query]}
      read={(signal) => api.partnerAudit.list({ params, query, signal })}
      isOperators={false}
      about="Changes by your team and by the operator, and the operator’s visits to these pages."
    />
  );
}

interface AuditLogProps {
  /** The parameters that the answer depends on. */
  readonly scope: readonly unknown[];
  readonly read: (signal: AbortSignal) => ReturnType<typeof api.systemAudit.list>;
  readonly isOperators: boolean;
  readonly about: string;
}

function AuditLog({ scope, read, isOperators, about }: AuditLogProps) {
  const url = useUrlState();
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ["audit", ...scope],
    queryFn: ({ signal }) => read(signal),
    placeholderData: keepPreviousData,
  });
  return (
    <div class="stack">
      <PageHeader title="Audit log">{about}</PageHeader>
      <Filters isOperators={isOperators} />
      <h2 class="visually-hidden">The list</h2>
      <Table
        caption="Entries, newest first"
        columns={actColumns(isOperators ? url : undefined)}
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
      <Pager
        summary={data === undefined ? "" : `${data.data.length} ${data.data.length === 1 ? "act" : "acts"}`}
        isPending={isFetching}
        {...url.paging(data?.next_cursor)}
      />
    </div>
  );
}

function Filters({ isOperators }: Pick<AuditLogProps, "isOperators">) {
  const { get, filter } = useUrlState();
  const text = (name: string, label: string, placeholder: string) => (
    <FilterField
      label={label}
      value={get(name)}
      placeholder={placeholder}
      onFilter={(value) => filter({ [name]: value })}
    />
  );
  const time = (name: string, label: string) => (
    <FilterField
      label={label}
      type="datetime-local"
      value={localInput(get(name))}
      onFilter={(value) => filter({ [name]: instantOf(value) })}
    />
  );
  return (
    <search class="filters" aria-label="Filters">
      {isOperators && text("actor", "Who", "mail address, or cli")}
      {text("action", "Action", "key.issued")}
      {text("subject", "Subject", "an id")}
      {isOperators && text("partner_id", "Partner", "a partner’s id")}
      {time("since", "From")}
      {time("until", "Until")}
    </search>
  );
}
