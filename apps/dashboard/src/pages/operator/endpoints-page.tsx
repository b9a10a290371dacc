import type { EndpointSummary } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { Link } from "wouter-preact";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { endpointState } from "../endpoint-state.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { addressIn, type Scope, useOperatorScope } from "../scope.ts";
import { useAction } from "../use-action.ts";
import { waitingText } from "../waiting-text.ts";

/** Every partner's endpoint: how it does, and the switch that stops it. */
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
      <PageHeader title="Endpoints">Where partners’ events are sent, and what waits there.</PageHeader>
      {data?.workers === 0 && (
        <Notice tone="warning">No process of the service sends webhooks at present: start one.</Notice>
      )}
      <Table
        caption="Endpoints"
        columns={columnsFor(scope)}
        rows={data?.data}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="There is no endpoint yet">Partners set theirs on their webhook page.</EmptyState>}
      />
    </div>
  );
}

function Address({ url }: Pick<EndpointSummary, "url">) {
  return <code class="mono table-address">{url ?? "removed"}</code>;
}

function columnsFor(scope: Scope): readonly Column<EndpointSummary>[] {
  return [
    {
      id: "partner",
      title: "Partner",
      cell: ({ partner_id: partnerId, partner_name: name }) => (
        <Link href={addressIn(scope, `endpoints/${encodeURIComponent(partnerId)}`)}>{name}</Link>
      ),
    },
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
    { id: "held", title: "Held", align: "end", isSecondary: true, cell: ({ held }) => waitingText(held) },
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
            cell: (row: EndpointSummary) => row.url !== null && <Actions systemId={scope.systemId} endpoint={row} />,
          },
        ]
      : []),
  ];
}

interface ActionsProps {
  readonly systemId: string;
  readonly endpoint: EndpointSummary;
}

function Actions({ systemId, endpoint }: ActionsProps) {
  const { run, isPending } = useAction();
  const request = { params: { system_id: systemId, partner_id: endpoint.partner_id }, body: {} };
  const act = (work: () => Promise<unknown>, said: string) =>
    void run(async () => {
      await work();
      await queries.invalidateQueries({ queryKey: ["endpoints"] });
      showToast("success", said);
    });
  const name = endpoint.partner_name;
  return (
    <div class="row">
      {endpoint.status === "paused" ? (
        <Button
          pending={isPending}
          onClick={() => act(() => api.endpoints.resume(request), `${name} is sent to again.`)}
        >
          Resume
        </Button>
      ) : (
        <Button
          variant="quiet"
          pending={isPending}
          onClick={() => act(() => api.endpoints.retryNow(request), `What waits for ${name} is sent now.`)}
        >
          Retry now
        </Button>
      )}
      {endpoint.pause_reason !== "operator" && (
        <Button
          variant="danger"
          pending={isPending}
          onClick={() => act(() => api.endpoints.pause(request), `Nothing more is sent to ${name}.`)}
        >
          Stop
        </Button>
      )}
    </div>
  );
}
