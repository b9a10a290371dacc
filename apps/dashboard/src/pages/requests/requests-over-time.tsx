import type { UsageOverTime } from "@bikeshare/contract/console";
import { useContext } from "preact/hooks";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import type { Series } from "../../components/chart-scale.ts";
import { LazyChart } from "../../components/lazy-chart.tsx";
import { shownTimeZone } from "../../components/time-zone.ts";
import { SplitSide } from "../../layout/split-side.ts";
import { CountedNote, RangeCard } from "../city/range-card.tsx";
import { useRange } from "../city/range-picker.tsx";
import { readRange, sumOf, type TimeRange, valuesUntilNow } from "../city/range.ts";
import type { PageScope } from "../scope.ts";

const REFRESH_INTERVAL_MS = 30_000;

/** A chart of the requests by status, over the range in the address. A range selected in the chart filters the list too. */
export function RequestsOverTime({ scope, keyId }: { readonly scope: PageScope; readonly keyId: string | undefined }) {
  const timeZone = shownTimeZone();
  const now = new Date().getTime();
  const { range, set, narrow } = useRange(timeZone, now);
  // A list beside the page of one row has no space for a chart.
  const isHidden = useContext(SplitSide) === "list";
  const query = useUsage(scope, range, keyId, !isHidden);
  if (isHidden) return null;
  return (
    <RangeCard title="Requests over time" {...{ query, range, timeZone, now }} offered={["day", "week"]} onChange={set}>
      <UsageChart answer={query.data} timeZone={timeZone} onRange={narrow} />
    </RangeCard>
  );
}

/** A chart of a partner's requests in the last seven days, for pages that are not about requests alone. */
export function WeekOfRequests(partner: { readonly systemId: string; readonly partnerId: string }) {
  const timeZone = shownTimeZone();
  // The parameters of an address that selects the last week.
  const week = { range: "week", to: "", since: "", until: "" };
  const { data } = useUsage(partner, readRange(week, timeZone, new Date().getTime()), undefined);
  return <UsageChart answer={data} timeZone={timeZone} />;
}

type Whose = Pick<PageScope, "systemId" | "partnerId">;

/** Reads the numbers of requests over a range of time: of a partner, or of the whole system if `partnerId` is undefined. */
function useUsage(
  { systemId, partnerId }: Whose,
  { from, to, step }: TimeRange,
  keyId: string | undefined,
  enabled = true,
) {
  return useQuery({
    queryKey: ["usage-over-time", systemId, partnerId, from, to, keyId],
    queryFn: ({ signal }) => {
      const query = { from, to, step, ...(keyId !== undefined && { key_id: keyId }) };
      return partnerId === undefined
        ? api.systemRequests.overTime({ params: { system_id: systemId }, query, signal })
        : api.partnerRequests.overTime({ params: { system_id: systemId, partner_id: partnerId }, query, signal });
    },
    enabled,
    refetchInterval: REFRESH_INTERVAL_MS,
    placeholderData: (before) => before,
  });
}

interface UsageChartProps {
  /** Undefined until it is loaded. */
  readonly answer: UsageOverTime | undefined;
  readonly timeZone: string;
  readonly onRange?: (from: string, to: string) => void;
}

/** The requests of one step of time, by their outcome. */
type Counts = NonNullable<UsageOverTime["data"][number]["counts"]>;

function UsageChart({ answer, timeZone, onRange }: UsageChartProps) {
  const steps = answer?.data ?? [];
  const values = (of: (counts: Counts) => number) => valuesUntilNow(steps, ({ counts }) => counts && of(counts));
  // `client_errors` are those with a status of 4xx but 429, so no request is in two series.
  const series: readonly Series[] = [
    {
      label: "Succeeded",
      values: values((each) => each.requests - each.client_errors - each.server_errors - each.rate_limited),
    },
    { label: "Refused (4xx)", values: values((each) => each.client_errors), tone: "attention" },
    { label: "Over the limit (429)", values: values((each) => each.rate_limited), tone: "off" },
    { label: "Failed (5xx)", values: values((each) => each.server_errors), tone: "bad" },
  ];
  const sums = series.map((each) => sumOf(each.values));
  const all = sumOf(sums);
  // Every series but the first, which counts the successful requests.
  const unsuccessful = sumOf(sums.slice(1));
  return (
    <LazyChart
      title={answer === undefined ? "Requests" : titleOf(all, unsuccessful)}
      times={steps.map(({ from }) => from)}
      series={series}
      unit="requests"
      timeZone={timeZone}
      {...(onRange && { onRange })}
    >
      <CountedNote from={answer?.counted_from}>By status.</CountedNote>
    </LazyChart>
  );
}

function titleOf(all: number, unsuccessful: number): string {
  if (all === 0) return "No requests";
  const requests = `${all.toLocaleString("en")} ${all === 1 ? "request" : "requests"}`;
  return unsuccessful === 0
    ? `${requests}, all successful`
    : `${requests}, ${unsuccessful.toLocaleString("en")} unsuccessful`;
}
