import type { FeedState, SystemOverview } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { Chart } from "../../components/chart.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { relativeText } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { NotFoundPage } from "../not-found-page.tsx";
import { FeedStatus } from "../operator/feed-status.tsx";
import { addressIn, type Scope, useOperatorScope } from "../scope.ts";
import { waitingText } from "../waiting-text.ts";
import { CheckList } from "./check-list.tsx";
import { Figures } from "./figures.tsx";
import { REFRESH_INTERVAL_MS, RequestFigures } from "./overview-page.tsx";
import "./overview.css";

/** The operator's start page: keys, webhooks and feeds that need attention, and the load of the system. */
export function OperatorOverviewPage() {
  const scope = useOperatorScope();
  return scope === undefined ? <NotFoundPage /> : <Overview scope={scope} />;
}

function Overview({ scope }: { readonly scope: Scope }) {
  const params = { system_id: scope.systemId };
  const { data, error, refetch } = useQuery({
    queryKey: ["system-overview", params],
    queryFn: ({ signal }) => api.systemOverview.get({ params, signal }),
    refetchInterval: REFRESH_INTERVAL_MS,
  });
  return (
    <>
      <PageHeader title="Overview">API usage, webhooks and feeds of all partners. Updates live.</PageHeader>
      {data === undefined &&
        (error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
      {data !== undefined && (
        <>
          <CheckList checks={data.checks} scope={scope} />
          <div class="overview-columns">
            <RequestFigures hour={data.hour} scope={scope} />
            <WebhookFigures overview={data} scope={scope} />
          </div>
          <div class="card">
            <Chart
              title="Requests per minute"
              times={data.minutes}
              series={[
                { label: "answered", values: data.requests.map((all, index) => all - (data.rate_limited[index] ?? 0)) },
                { label: "refused by a limit", values: data.rate_limited },
              ]}
              unit="requests"
            />
          </div>
          <section class="stack">
            <h2>Refused keys</h2>
            <RefusedKeys refused={data.refused} scope={scope} />
          </section>
          <section class="stack">
            <h2>Feeds</h2>
            <Feeds feeds={data.feeds} />
          </section>
        </>
      )}
    </>
  );
}

function WebhookFigures({ overview, scope }: { readonly overview: SystemOverview; readonly scope: Scope }) {
  const { workers, endpoints, backlog } = overview;
  const to = addressIn(scope, "endpoints");
  return (
    <Figures
      title="Webhooks"
      figures={[
        { label: "Workers", value: workers.toLocaleString("en"), note: "send now", isBad: workers === 0 },
        {
          label: "Endpoints",
          value: (endpoints.active + endpoints.failing + endpoints.paused).toLocaleString("en"),
          note: `${endpoints.failing} failing, ${endpoints.paused} paused`,
          isBad: endpoints.failing > 0,
          href: to,
        },
        {
          label: "Pending",
          value: waitingText(backlog.pending, backlog.is_complete),
          note: backlog.oldest_due_at === null ? "none is due" : `first due ${fromNow(backlog.oldest_due_at)}`,
        },
        { label: "Held", value: waitingText(backlog.held, backlog.is_complete), note: "not sent" },
      ]}
    />
  );
}

function fromNow(at: string): string {
  return relativeText(Date.parse(at) - new Date().getTime());
}

type RefusedKey = SystemOverview["refused"][number];

function RefusedKeys({ refused, scope }: { readonly refused: readonly RefusedKey[]; readonly scope: Scope }) {
  const columns: readonly Column<RefusedKey>[] = [
    {
      id: "key",
      title: "Key",
      cell: ({ key_id, name, last4 }) => (
        <Link href={addressIn(scope, "requests", { key_id })}>
          {name === null ? `…${last4}` : `${name} (…${last4})`}
        </Link>
      ),
    },
    { id: "partner", title: "Partner", cell: ({ partner_name: name }) => name ?? "operator" },
    { id: "reason", title: "Why", cell: ({ reason }) => <Status tone="neutral">{reason}</Status> },
    { id: "requests", title: "In the last hour", align: "end", cell: ({ requests }) => requests.toLocaleString("en") },
  ];
  return (
    <Table
      caption="Refused keys"
      columns={columns}
      rows={refused}
      rowKey={({ key_id }) => key_id}
      empty={
        <EmptyState title="No refused keys">
          No request used a revoked, expired or suspended key in the last hour.
        </EmptyState>
      }
    />
  );
}

function Feeds({ feeds }: { readonly feeds: readonly FeedState[] }) {
  const columns: readonly Column<FeedState>[] = [
    { id: "source", title: "Source", cell: ({ source }) => source },
    { id: "feed", title: "Feed", cell: ({ feed }) => <span class="mono">{feed}</span> },
    {
      id: "state",
      title: "State",
      cell: ({ state }) => <FeedStatus state={state} />,
    },
    {
      id: "age",
      title: "Last read",
      align: "end",
      cell: ({ age_seconds: age }) => (age === null ? "never" : relativeText(-age * 1_000)),
    },
  ];
  return (
    <Table
      caption="Feeds"
      columns={columns}
      rows={feeds}
      rowKey={({ source, feed }) => `${source} ${feed}`}
      empty={
        <EmptyState title="No feed is followed">Stations and bikes come from imports or from your backend.</EmptyState>
      }
    />
  );
}
