import type { EndpointSummary } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { endpointState } from "../endpoint-state.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { type PageScope, useOperatorScope } from "../scope.ts";
import { waitingText } from "../waiting-text.ts";
import { EndpointActions, endpointAddress } from "./endpoint-actions.tsx";

/** The operator's page of all partners' webhook endpoints: the health of each, and buttons to pause and resume it. */
export function EndpointsPage() {
  const scope = useOperatorScope();
  const systemId = scope?.systemId ?? "";
  const { data, error, refetch } = useQuery({
    queryKey: ["endpoints", systemId],
    queryFn: ({ signal }) => api.endpoints.list({ params: { system_id: systemId }, signal }),
    enabled: scope !== undefined,
  });
  if (scope === undefined) return <NotFoundPage />;
  return (
    <div class="stack">
      <PageHeader title="Webhooks" />
      {data?.workers === 0 && <Notice tone="warning">No worker is running. Start one to send webhooks.</Notice>}
      <Table
        caption="Webhooks"
        columns={columnsFor(scope)}
        rows={data?.data}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="No webhooks yet">Partners set theirs on their webhook page.</EmptyState>}
      />
    </div>
  );
}

function Address({ url }: Pick<EndpointSummary, "url">) {
  return <code class="mono table-address">{url ?? "removed"}</code>;
}

function columnsFor(scope: PageScope): readonly Column<EndpointSummary>[] {
  return [
    {
      id: "partner",
      title: "Partner",
      cell: (endpoint) => <Link href={endpointAddress(scope, endpoint)}>{endpoint.partner_name}</Link>,
    },
    { id: "name", title: "Name", cell: ({ name }) => name },
    { id: "url", title: "Address", isSecondary: true, cell: ({ url }) => <Address url={url} /> },
    {
      id: "status",
      title: "Status",
      cell: (endpoint) => {
        const [tone, text] = endpointState(endpoint);
        return <Status tone={tone}>{text}</Status>;
      },
    },
    {
      id: "failing",
      title: "Failing since",
      cell: ({ failing_since: at }) => <Time at={at} show="relative" none="no" />,
    },
    { id: "pending", title: "Waiting", align: "end", cell: ({ pending }) => waitingText(pending) },
    {
      id: "oldest",
      title: "Oldest due",
      isSecondary: true,
      cell: ({ oldest_due: at }) => <Time at={at} show="relative" none="–" />,
    },
    { id: "held", title: "Held", align: "end", cell: ({ held }) => waitingText(held) },
    {
      id: "log",
      title: "Log",
      align: "end",
      isSecondary: true,
      cell: ({ log_bytes: bytes }) => `${(bytes / 1_048_576).toFixed(1)} MiB`,
    },
    ...(scope.canChange
      ? [
          {
            id: "actions",
            title: "",
            align: "end" as const,
            cell: (row: EndpointSummary) => row.url !== null && <EndpointActions scope={scope} endpoint={row} />,
          },
        ]
      : []),
  ];
}
