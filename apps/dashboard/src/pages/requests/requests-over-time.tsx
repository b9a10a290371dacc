import type { UsageOverTime } from "@bikeshare/contract/console";
import { useContext } from "preact/hooks";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import type { Series } from "../../components/chart-scale.ts";
import { LazyChart } from "../../components/lazy-chart.tsx";
import { shownTimeZone } from "../../components/time-zone.ts";
import { Time } from "../../components/time.tsx";
import { SplitSide } from "../../layout/split-side.ts";
import { RangePicker, useRange } from "../city/range-picker.tsx";
import { readRange, type TimeRange } from "../city/range.ts";
import "../city/city.css";
import type { Scope } from "../scope.ts";

const REFRESH_INTERVAL_MS = 30_000;

/** Requests by status over the time that the address asks for. A part that is chosen in the chart filters the list too. */
export function RequestsOverTime({ scope, keyId }: { readonly scope: Scope; readonly keyId: string | undefined }) {
  const timeZone = shownTimeZone();
  const now = new Date().getTime();
  const { range, set, narrow } = useRange(timeZone, now);
  const answer = useUsage(scope, range, keyId);
  if (useContext(SplitSide) === "list") return null;
  return (
    <section class="card over-time" aria-labelledby="over-time">
      <h2 id="over-time" class="visually-hidden">
        Requests over time
      </h2>
      <RangePicker {...{ range, timeZone, now }} offered={["day", "week"]} onChange={set} />
      <UsageChart {...{ answer, timeZone }} onRange={narrow} />
    </section>
  );
}

/** The last seven days of a partner's requests, for a page with more than that. */
export function WeekOfRequests(partner: { readonly systemId: string; readonly partnerId: string }) {
  const timeZone = shownTimeZone();
  const week = { range: "week", to: "", since: "", until: "" };
  const answer = useUsage(partner, readRange(week, timeZone, new Date().getTime()), undefined);
  return <UsageChart {...{ answer, timeZone }} />;
}

type Whose = Pick<Scope, "systemId" | "partnerId">;

function useUsage({ systemId, partnerId }: Whose, { from, to, step }: TimeRange, keyId: string | undefined) {
  const { data } = useQuery({
    queryKey: ["usage-over-time", systemId, partnerId, from, to, keyId],
    queryFn: ({ signal }) => {
      const query = { from, to, step, ...(keyId !== undefined && { key_id: keyId }) };
      return partnerId === undefined
        ? api.systemRequests.overTime({ params: { system_id: systemId }, query, signal })
        : api.partnerRequests.overTime({ params: { system_id: systemId, partner_id: partnerId }, query, signal });
    },
    refetchInterval: REFRESH_INTERVAL_MS,
    placeholderData: (before) => before,
  });
  return data;
}

interface UsageChartProps {
  /** Undefined until it is loaded. */
  readonly answer: UsageOverTime | undefined;
  readonly timeZone: string;
  readonly onRange?: (from: string, to: string) => void;
}

function UsageChart({ answer, timeZone, onRange }: UsageChartProps) {
  const steps = answer?.data ?? [];
  const now = new Date().toISOString();
  const values = (of: (counts: NonNullable<(typeof steps)[number]["counts"]>) => number) =>
    steps.map(({ from, counts }) => (counts === null || from > now ? null : of(counts)));
  const series: readonly Series[] = [
    {
      label: "Succeeded",
      values: values((each) => each.requests - each.client_errors - each.server_errors - each.rate_limited),
    },
    { label: "Refused (4xx)", values: values((each) => each.client_errors), tone: "attention" },
    { label: "Over the limit (429)", values: values((each) => each.rate_limited), tone: "off" },
    { label: "Failed (5xx)", values: values((each) => each.server_errors), tone: "bad" },
  ];
  const [succeeded = 0, ...others] = series.map((each) => each.values.reduce<number>((sum, n) => sum + (n ?? 0), 0));
  const unsuccessful = others.reduce((sum, n) => sum + n, 0);
  const all = succeeded + unsuccessful;
  return (
    <LazyChart
      title={answer === undefined ? "Requests" : titleOf(all, unsuccessful)}
      times={steps.map(({ from }) => from)}
      series={series}
      unit="requests"
      timeZone={timeZone}
      {...(onRange && { onRange })}
    >
      {answer?.counted_from ? (
        <>
          Counted back to <Time at={answer.counted_from} />: there are too many before.
        </>
      ) : (
        "By status."
      )}
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
