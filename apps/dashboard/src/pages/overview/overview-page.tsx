import type { KeyLoad, PartnerOverview, RequestCounts } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { LazyChart } from "../../components/lazy-chart.tsx";
import { Loading } from "../../components/loading.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { NotFoundPage } from "../not-found-page.tsx";
import { addressIn, type PageScope, usePartnerScope } from "../scope.ts";
import { CheckList } from "./check-list.tsx";
import { type Figure, Figures, shareText } from "./figures.tsx";
import { Webhooks } from "./webhooks.tsx";
import "./overview.css";

/** Milliseconds between two reads. */
const REFRESH_INTERVAL_MS = 15_000;

/** A partner's start page: problems with what to do about each, then usage. */
export function PartnerOverviewPage() {
  const scope = usePartnerScope();
  return scope?.partnerId === undefined ? (
    <NotFoundPage />
  ) : (
    // Copied, because TypeScript narrows the property, not the object.
    <Overview scope={{ ...scope, partnerId: scope.partnerId }} />
  );
}

function Overview({ scope }: { readonly scope: PageScope & { readonly partnerId: string } }) {
  const params = { system_id: scope.systemId, partner_id: scope.partnerId };
  const { data, error, refetch } = useQuery({
    queryKey: ["overview", params],
    queryFn: ({ signal }) => api.partnerOverview.get({ params, signal }),
    refetchInterval: REFRESH_INTERVAL_MS,
  });
  return (
    <>
      <PageHeader title="Overview">API usage and webhook health. Updates live.</PageHeader>
      {data === undefined &&
        (error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
      {data !== undefined && <OverviewContent overview={data} scope={scope} />}
    </>
  );
}

function OverviewContent({ overview, scope }: { readonly overview: PartnerOverview; readonly scope: PageScope }) {
  return (
    <>
      <CheckList checks={overview.checks} scope={scope} />
      <div class="overview-columns">
        <RequestFigures hour={overview.hour} today={overview.today} scope={scope} />
        <Webhooks overview={overview} scope={scope} />
      </div>
      <KeyCharts minutes={overview.minutes} keys={overview.keys} scope={scope} />
    </>
  );
}

interface RequestFiguresProps {
  readonly hour: RequestCounts;
  readonly today: RequestCounts;
  readonly scope: PageScope;
}

const HOUR_MS = 3_600_000;
/** The share of unsuccessful requests from which a figure is highlighted. */
const BAD_SHARE = 0.05;

/** Figures of the requests, and the share of them that failed. */
function RequestFigures({ hour, today, scope }: RequestFiguresProps) {
  const logAddress = (query: Readonly<Record<string, string>>) =>
    addressIn(scope, "requests", { ...query, since: new Date(new Date().getTime() - HOUR_MS).toISOString() });
  const share = (
    label: string,
    count: (counts: RequestCounts) => number,
    query: Readonly<Record<string, string>>,
  ): Figure => ({
    label,
    value: shareText(count(hour), hour.requests),
    note: `today ${shareText(count(today), today.requests)}`,
    isBad: count(hour) > 0 && count(hour) / hour.requests >= BAD_SHARE,
    href: logAddress(query),
  });
  return (
    <Figures
      title="Requests in the last hour"
      figures={[
        {
          label: "Requests",
          value: hour.requests.toLocaleString("en"),
          note: `today ${today.requests.toLocaleString("en")}`,
          href: logAddress({}),
        },
        share("Client errors (4xx)", (counts) => counts.client_errors, { status: "4xx" }),
        share("Rate-limited (429)", (counts) => counts.rate_limited, { status: "429" }),
        share("Server errors (5xx)", (counts) => counts.server_errors, { status: "5xx" }),
      ]}
    />
  );
}

interface KeyChartsProps {
  readonly minutes: readonly string[];
  readonly keys: readonly KeyLoad[];
  readonly scope: PageScope;
}

/** Most keys that are drawn. The page of keys shows all. */
const SHOWN_KEYS = 6;

function KeyCharts({ minutes, keys, scope }: KeyChartsProps) {
  return (
    <section class="stack" aria-labelledby="key-charts">
      <h2 id="key-charts">Requests per minute, by key</h2>
      {keys.length === 0 && (
        <div class="card">
          <EmptyState title="No active keys">
            The operator issues keys. The Keys page shows your former ones.
          </EmptyState>
        </div>
      )}
      <div class="overview-charts">
        {keys.slice(0, SHOWN_KEYS).map((key) => (
          <div key={key.id} class="card">
            <LazyChart
              title={key.name === null ? `Key …${key.last4}` : `${key.name} (…${key.last4})`}
              times={minutes}
              series={[{ label: "requests", values: key.requests }]}
              unit="requests"
              limit={{ value: key.rate_limit, label: `limit ${key.rate_limit.toLocaleString("en")}` }}
            />
          </div>
        ))}
      </div>
      <p>
        <Link href={addressIn(scope, "keys")}>
          {keys.length > SHOWN_KEYS ? `All ${keys.length} keys that work` : "All keys"}
        </Link>
      </p>
    </section>
  );
}
