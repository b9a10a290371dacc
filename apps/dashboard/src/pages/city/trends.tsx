import type { ConsoleSummary } from "@bikeshare/contract/console";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import type { ChartNote } from "../../components/chart.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { LazyChart } from "../../components/lazy-chart.tsx";
import type { PageScope } from "../scope.ts";
import { SUMS_MS } from "./city-data.ts";
import { RangePicker, useRange } from "./range-picker.tsx";
import { sumOf, type TimeRange, valuesUntilNow } from "./range.ts";
import { CLOCK, cityText, comparedText, DATE } from "./times.ts";

interface TrendsProps {
  readonly scope: PageScope;
  readonly timeZone: string;
}

/** Charts over one range of time. Those of rides and of stations also show the period before. */
export function Trends({ scope, timeZone }: TrendsProps) {
  const now = new Date().getTime();
  const { range, set, narrow } = useRange(timeZone, now);
  const { data, error, refetch } = useQuery({
    queryKey: ["city", scope.systemId, "summary", range.from, range.to],
    queryFn: ({ signal }) =>
      api.systemSums.summary({
        params: { system_id: scope.systemId },
        query: { from: range.from, to: range.to, step: range.step, against: "previous" },
        signal,
      }),
    refetchInterval: SUMS_MS,
    placeholderData: (before) => before,
  });
  return (
    <section class="trends" aria-labelledby="trends">
      <header class="trends-head">
        <h2 id="trends">Over time</h2>
        <RangePicker {...{ range, timeZone, now }} onChange={set} />
      </header>
      {data === undefined && error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <div class="trends-charts">
          <RidesChart {...{ data, range, timeZone, narrow }} />
          <FleetChart {...{ data, range, timeZone, narrow }} />
          <StationsChart {...{ data, range, timeZone, narrow }} />
        </div>
      )}
    </section>
  );
}

interface TrendProps {
  /**
   * Undefined until it is loaded. `data.data` has the steps of the range, `data.before` those of the period before. A step's
   * `fleet` and `stations` are means over the step.
   */
  readonly data: ConsoleSummary | undefined;
  readonly range: TimeRange;
  readonly timeZone: string;
  /** Called with the range that the reader selects in a chart. All charts then show it. */
  readonly narrow: (from: string, to: string) => void;
}

type Step = ConsoleSummary["data"][number];

function RidesChart({ data, range, timeZone, narrow }: TrendProps) {
  const steps = data?.data ?? [];
  const rides = valuesUntilNow(steps, (step) => step.rides_started);
  const before = steps.map((_, index) => data?.before[index]?.rides_started ?? null);
  return (
    <div class="card">
      <LazyChart
        title={steps.length === 0 ? "Rides" : `${sumOf(rides).toLocaleString("en")} rides`}
        times={steps.map(({ from }) => from)}
        series={[
          { label: "Rides", values: rides },
          { label: beforeLabel(range), values: before, kind: "before" },
        ]}
        unit="rides"
        timeZone={timeZone}
        notes={peakNote(steps, rides, range, timeZone)}
        onRange={narrow}
      >
        {comparedSentence(rides, before, range)}
      </LazyChart>
    </div>
  );
}

/**
 * Returns a sentence that compares the rides until now with the period before. Steps that are in the future are left out of
 * both. If the period before has an unknown step or no rides, the sentence compares nothing.
 */
function comparedSentence(
  rides: readonly (number | null)[],
  before: readonly (number | null)[],
  range: TimeRange,
): string {
  const earlier = before.filter((_, index) => rides[index] !== null);
  const earlierSum = sumOf(earlier);
  if (earlier.includes(null) || earlierSum === 0) return `Started in each ${stepWord(range)}.`;
  const compared = comparedText(sumOf(rides), earlierSum);
  // `comparedText` returns "as many", "12 times as many", "8 % more" or "8 % fewer".
  const joined = `${compared.charAt(0).toUpperCase()}${compared.slice(1)} ${compared.endsWith("many") ? "as" : "than"}`;
  return `${joined} ${beforePhrase(range)}. Started in each ${stepWord(range)}.`;
}

function stepWord({ step }: TimeRange): string {
  return { PT15M: "quarter of an hour", PT1H: "hour", P1D: "day" }[step];
}

function beforeLabel({ period }: TimeRange): string {
  return period === undefined ? "Before" : `The ${period} before`;
}

function beforePhrase({ period }: TimeRange): string {
  return period === undefined ? "in as much time before" : `the ${period} before by then`;
}

/** How a mark names a step, by the length of the steps. */
const peakFormats: Readonly<Record<TimeRange["step"], Intl.DateTimeFormatOptions>> = {
  PT15M: CLOCK,
  PT1H: { ...CLOCK, weekday: "short" },
  P1D: DATE,
};

/** Marks the step with the most rides. Returns no mark if there are no rides. */
function peakNote(
  steps: readonly Step[],
  rides: readonly (number | null)[],
  range: TimeRange,
  timeZone: string,
): readonly ChartNote[] {
  const most = Math.max(...rides.map((value) => value ?? 0));
  const peak = steps[rides.indexOf(most)];
  if (most <= 0 || peak === undefined) return [];
  return [{ at: peak.from, text: `Peak: ${cityText(peak.from, timeZone, peakFormats[range.step])}` }];
}

function FleetChart({ data, timeZone, narrow }: TrendProps) {
  const steps = data?.data ?? [];
  const fleet = (state: keyof NonNullable<Step["fleet"]>) => valuesUntilNow(steps, (step) => step.fleet?.[state]);
  const available = fleet("available").filter((value) => value !== null);
  const title =
    available.length === 0
      ? "Bikes by state"
      : `Lowest mean: ${Math.round(Math.min(...available)).toLocaleString("en")} bikes available`;
  return (
    <div class="card">
      <LazyChart
        title={title}
        times={steps.map(({ from }) => from)}
        series={[
          { label: "On a ride", values: fleet("on_trip"), kind: "area" },
          { label: "Reserved", values: fleet("reserved"), kind: "area" },
          { label: "Broken", values: fleet("disabled"), kind: "area" },
          { label: "Missing", values: fleet("missing"), kind: "area" },
          { label: "Available", values: fleet("available"), kind: "area" },
        ]}
        unit="bikes"
        timeZone={timeZone}
        onRange={narrow}
      >
        The fleet by state, stacked.
      </LazyChart>
    </div>
  );
}

function StationsChart({ data, range, timeZone, narrow }: TrendProps) {
  const steps = data?.data ?? [];
  const empty = valuesUntilNow(steps, (step) => step.stations?.empty);
  const full = valuesUntilNow(steps, (step) => step.stations?.full);
  const most = Math.max(0, ...empty.map((value) => value ?? 0));
  const worst = steps[empty.indexOf(most)];
  const when = worst && cityText(worst.from, timeZone, range.step === "P1D" ? DATE : { ...DATE, ...CLOCK });
  return (
    <div class="card">
      <LazyChart
        title={
          most === 0 || when === undefined
            ? "Stations empty and full"
            : `Highest mean: ${Math.round(most)} stations empty, ${when}`
        }
        times={steps.map(({ from }) => from)}
        series={[
          { label: "Empty", values: empty, kind: "line" },
          { label: "Full", values: full, kind: "line" },
          {
            label: `Empty, ${beforeLabel(range).toLowerCase()}`,
            values: steps.map((_, index) => data?.before[index]?.stations?.empty ?? null),
            kind: "before",
          },
        ]}
        unit="stations"
        timeZone={timeZone}
        onRange={narrow}
      >
        Without a bike to rent, and without a free dock.
      </LazyChart>
    </div>
  );
}
