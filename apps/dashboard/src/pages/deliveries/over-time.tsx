import type { DeliveriesOverTime as Answer, DeliveryCause } from "@bikeshare/contract/console";
import { useContext } from "preact/hooks";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import type { Series } from "../../components/chart-scale.ts";
import { visibleControls } from "../../components/code.tsx";
import { LazyChart } from "../../components/lazy-chart.tsx";
import { shownTimeZone } from "../../components/time-zone.ts";
import { SplitSide } from "../../layout/split-side.ts";
import { CountedNote, RangeCard } from "../city/range-card.tsx";
import { useRange } from "../city/range-picker.tsx";
import { sumOf, valuesUntilNow } from "../city/range.ts";
import type { WebhookTarget } from "../webhook/webhook-client.ts";
import type { FilterTexts } from "./filters.ts";
import { countDeliveries, failureWords } from "./words.ts";

const REFRESH_INTERVAL_MS = 30_000;

interface OverTimeProps {
  readonly target: WebhookTarget;
  readonly filters: FilterTexts;
  readonly onFilter: (filters: FilterTexts) => void;
}

/**
 * A chart of deliveries over time by their state, with the causes of failures. A range selected in the chart filters the
 * list below it: `narrow` writes `since` and `until` into the address, which the list reads as filters.
 */
export function DeliveriesOverTime({ target, filters, onFilter }: OverTimeProps) {
  const timeZone = shownTimeZone();
  const now = new Date().getTime();
  const { range, set, narrow } = useRange(timeZone, now);
  // A list beside the page of one delivery has no space for a chart.
  const isHidden = useContext(SplitSide) === "list";
  const query = useQuery({
    queryKey: ["deliveries", "over-time", target, range.from, range.to],
    queryFn: ({ signal }) =>
      api.deliveries.overTime({
        ...target,
        query: { ...target.query, from: range.from, to: range.to, step: range.step },
        signal,
      }),
    enabled: !isHidden,
    refetchInterval: REFRESH_INTERVAL_MS,
    placeholderData: (before) => before,
  });
  const { data } = query;
  if (isHidden) return null;
  // A cause filters the list of all times, unless a range was selected in the chart.
  const part = range.period === undefined ? {} : { since: range.from, until: range.to };
  return (
    <div class="over-time-pair">
      <RangeCard
        title="Deliveries over time"
        {...{ query, range, timeZone, now }}
        offered={["day", "week", "month"]}
        onChange={set}
      >
        <OutcomeChart {...{ data, timeZone }} onRange={narrow} />
      </RangeCard>
      <section class="card causes" aria-labelledby="causes">
        <h2 id="causes">Why they fail</h2>
        {data !== undefined && (
          <Causes causes={data.causes} onChoose={(cause) => onFilter({ ...filters, ...part, ...cause })} />
        )}
      </section>
    </div>
  );
}

type Counts = NonNullable<Answer["data"][number]["deliveries"]>;

interface OutcomeChartProps {
  /** Undefined until it is loaded. */
  readonly data: Answer | undefined;
  readonly timeZone: string;
  readonly onRange: (from: string, to: string) => void;
}

function OutcomeChart({ data, timeZone, onRange }: OutcomeChartProps) {
  const steps = data?.data ?? [];
  const values = (of: (counts: Counts) => number) =>
    valuesUntilNow(steps, ({ deliveries }) => deliveries && of(deliveries));
  const series: readonly Series[] = [
    { label: "Arrived", values: values(({ succeeded }) => succeeded) },
    { label: "Held, dropped or skipped", values: values(({ held, dropped }) => held + dropped), tone: "off" },
    { label: "Waiting", values: values(({ waiting }) => waiting) },
    { label: "Failing", values: values(({ failing }) => failing), tone: "attention" },
    { label: "Given up", values: values(({ failed }) => failed), tone: "bad" },
  ];
  const sums = series.map((each) => sumOf(each.values));
  const all = sumOf(sums);
  // The last two series: failing and given up.
  const failing = sumOf(sums.slice(-2));
  return (
    <LazyChart
      title={data === undefined ? "Deliveries" : titleOf(all, failing)}
      times={steps.map(({ from }) => from)}
      series={series}
      unit="deliveries"
      timeZone={timeZone}
      onRange={onRange}
    >
      <CountedNote from={data?.counted_from}>By when they were created, as they are now.</CountedNote>
    </LazyChart>
  );
}

function titleOf(all: number, failing: number): string {
  if (all === 0) return "No deliveries";
  const deliveries = countDeliveries(all);
  return failing === 0
    ? `${deliveries}, none failing`
    : `${failing.toLocaleString("en")} of ${deliveries} failing or given up`;
}

interface CausesProps {
  readonly causes: readonly DeliveryCause[];
  readonly onChoose: (filters: FilterTexts) => void;
}

/** Failures by their cause, the most frequent first. A press on a cause filters the list. */
function Causes({ causes, onChoose }: CausesProps) {
  if (causes.length === 0) return <p class="muted">Nothing fails in this time.</p>;
  const most = Math.max(...causes.map(({ deliveries }) => deliveries));
  return (
    <ul class="cause-list">
      {causes.map((cause) => (
        <li key={`${cause.failure} ${cause.code}`}>
          <button type="button" class="cause" onClick={() => onChoose(filterOf(cause))}>
            <span class="cause-name">
              {cause.code === null ? capital(failureWords(cause.failure)) : `HTTP ${cause.code}`}
            </span>
            <b>{cause.deliveries.toLocaleString("en")}</b>
            <svg class="cause-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              <rect width={(100 * cause.deliveries) / most} height="4" />
            </svg>
          </button>
          <p class="muted">
            {cause.says === null ? cause.advice?.meaning : <>Your server says: “{visibleControls(cause.says)}”</>}
          </p>
        </li>
      ))}
    </ul>
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * Returns the filters for a cause. Uses the status code if there is one: the failure alone would match all codes with the
 * same first digit.
 */
function filterOf({ failure, code }: DeliveryCause): FilterTexts {
  const common = { status: "unsuccessful", code: "", failure: "" };
  return code === null ? { ...common, failure } : { ...common, code: String(code) };
}
