import type { ShownKey } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { ErrorState } from "../../components/error-state.tsx";
import { LazyChart } from "../../components/lazy-chart.tsx";
import { Loading } from "../../components/loading.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { addressIn, type PageScope } from "../scope.ts";
import {
  daySeries,
  hourStart,
  minuteSeries,
  type Period,
  periodDays,
  periodLabels,
  PERIODS,
  routeTotals,
} from "./usage-series.ts";

/** Milliseconds between two reads of the chart of the last hour. */
const REFRESH_INTERVAL_MS = 15_000;

interface KeyUsageProps {
  readonly shown: ShownKey;
  readonly scope: PageScope;
}

/** Charts of a key's requests: of the last hour by minute, or of the last days by day with the most called routes. */
export function KeyUsage({ shown, scope }: KeyUsageProps) {
  const [period, setPeriod] = useState<Period>("hour");
  return (
    <Tabs
      label="Usage"
      selected={period}
      onSelect={(id) => setPeriod(PERIODS.find((one) => one === id) ?? "hour")}
      tabs={PERIODS.map((id) => ({
        id,
        label: periodLabels[id],
        content: () =>
          id === "hour" ? (
            <Hour shown={shown} scope={scope} />
          ) : (
            <Days key={id} {...{ shown, scope }} days={periodDays[id]} />
          ),
      }))}
    />
  );
}

function Hour({ shown, scope }: KeyUsageProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["usage-minutes", scope.systemId, scope.partnerId, shown.id],
    queryFn: ({ signal }) => readMinutes(shown.id, scope, signal),
    refetchInterval: REFRESH_INTERVAL_MS,
  });
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  return (
    <LazyChart
      title="Requests per minute"
      {...minuteSeries(data.data, new Date().getTime())}
      unit="requests"
      limit={{ value: shown.rate_limit, label: `limit ${shown.rate_limit.toLocaleString("en")}` }}
    />
  );
}

function readMinutes(keyId: string, { systemId, partnerId }: PageScope, signal: AbortSignal) {
  const query = { key_id: keyId, since: new Date(hourStart(new Date().getTime())).toISOString() };
  return partnerId === undefined
    ? api.systemRequests.minutes({ params: { system_id: systemId }, query, signal })
    : api.partnerRequests.minutes({ params: { system_id: systemId, partner_id: partnerId }, query, signal });
}

/** Maximum routes that are listed. The rest usually add up to little. */
const SHOWN_ROUTES = 8;

function Days({ shown, scope, days }: KeyUsageProps & { readonly days: number }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["usage-days", scope.systemId, scope.partnerId, shown.id, days],
    queryFn: ({ signal }) => readDays(shown.id, days, scope, signal),
  });
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  const routes = routeTotals(data.data);
  return (
    <div class="stack">
      <LazyChart title="Requests per day (UTC)" {...daySeries(data.data, days, new Date().getTime())} unit="requests" />
      {routes.length > 0 && (
        <table class="table key-routes">
          <caption>Most called</caption>
          <thead>
            <tr>
              <th scope="col">Route</th>
              <th scope="col" class="align-end">
                Requests
              </th>
              <th scope="col" class="align-end">
                Failed
              </th>
            </tr>
          </thead>
          <tbody>
            {routes.slice(0, SHOWN_ROUTES).map((each) => (
              <tr key={each.route}>
                <td class="mono">
                  <Link href={addressIn(scope, "requests", requestFilters(shown.id, each.route))}>{each.route}</Link>
                </td>
                <td class="align-end">{each.requests.toLocaleString("en")}</td>
                <td class="align-end">
                  {/* Includes what the rate limit refused, which the chart shows as a series of its own. */}
                  {(each.client_errors + each.server_errors + each.rate_limited).toLocaleString("en")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function readDays(keyId: string, days: number, { systemId, partnerId }: PageScope, signal: AbortSignal) {
  const query = { key_id: keyId, days };
  return partnerId === undefined
    ? api.systemRequests.days({ params: { system_id: systemId }, query, signal })
    : api.partnerRequests.days({ params: { system_id: systemId, partner_id: partnerId }, query, signal });
}

/** Returns the filters of the request log for a key and a route such as `GET /v1/rides`. */
function requestFilters(keyId: string, called: string): Readonly<Record<string, string>> {
  const [method = "", route = ""] = called.split(" ");
  return { key_id: keyId, method, route };
}
