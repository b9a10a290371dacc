import type { StationTypical } from "@bikeshare/contract";
import type { MappedStation, StationFlows, StationWeek } from "@bikeshare/contract/console";
import { useMemo, useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import type { ChartNote } from "../../components/chart.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { SelectField } from "../../components/field.tsx";
import { LazyChart } from "../../components/lazy-chart.tsx";
import { availabilityLabels, availabilityOf, capacityOf, closedReason } from "../../components/map/availability.ts";
import { AvailabilityMark } from "../../components/map/legend.tsx";
import { useStations, type Viewer } from "./city-data.ts";
import { StationFlowsMap } from "./map-panel.tsx";
import { valuesUntilNow } from "./range.ts";
import { CLOCK, cityText, DATE, dayOf, daysLater, dayStart, lastingText } from "./times.ts";
import "./station.css";

/*
 * The parts of a station's page, for the operator and for partners: how full the station is now, its day, its week, and
 * where its rides go. `systemSums` and `partnerSums` are the endpoints of numbers that the service has summed over time.
 */

interface FillProps {
  readonly station: Pick<
    MappedStation,
    "status" | "offline_reason" | "bikes" | "docks" | "capacity" | "is_renting" | "is_returning"
  >;
  /** Since when the station is empty or full. Null: for longer than the history goes back. */
  readonly since?: string | null | undefined;
  /** The present by the server's clock. Undefined: how long the state lasts is not shown. */
  readonly now?: string | undefined;
}

/** Shows how full a station is, as a bar of its bikes and docks and in words. */
export function StationFill({ station, since, now }: FillProps) {
  const kind = availabilityOf(station);
  const capacity = capacityOf(station);
  const { bikes, docks } = station;
  const lasting = since && now ? ` for ${lastingText(Date.parse(now) - Date.parse(since))}` : "";
  return (
    <div class="station-fill">
      <p class="station-state">
        <AvailabilityMark kind={kind} />
        <strong>
          {closedReason(station) === undefined ? availabilityLabels[kind] : `Closed: ${closedReason(station)}`}
          {lasting}
        </strong>
      </p>
      <div
        class={`fill-bar fill-${kind}`}
        role="img"
        aria-label={`${bikes} bikes, ${docks ?? "unknown"} free docks, capacity ${capacity}`}
      >
        <span style={{ width: `${Math.min(100, (bikes / capacity) * 100)}%` }} />
      </div>
      <p class="fill-numbers">
        <span>
          <b>{bikes}</b> {bikes === 1 ? "bike" : "bikes"}
        </span>
        {docks !== null && (
          <span>
            <b>{docks}</b> free {docks === 1 ? "dock" : "docks"}
          </span>
        )}
      </p>
    </div>
  );
}

/** The step of the day's history: a quarter of an hour, as ISO 8601 writes it. */
const STEP = "PT15M";
/** Milliseconds between two reads of the day's history. */
const DAY_INTERVAL_MS = 60_000;
/** Milliseconds for which numbers of several weeks count as fresh, because they change slowly. */
const WEEKS_FRESH_MS = 600_000;

interface DayProps {
  readonly viewer: Viewer;
  readonly stationId: string;
  readonly timeZone: string;
  /** The instant that the page shows; undefined: now. */
  readonly at?: string | undefined;
}

/** Reads the history of a station on one day, and its usual day. */
function useStationDay({ viewer, stationId, timeZone, at }: DayProps) {
  const now = new Date().toISOString();
  const day = dayOf(at ?? now, timeZone);
  const from = new Date(dayStart(day, timeZone)).toISOString();
  const to = new Date(dayStart(daysLater(day, 1), timeZone)).toISOString();
  const params = { system_id: viewer.systemId, id: stationId };
  const { partnerId } = viewer;
  const query = { from, to, step: STEP } as const;
  const history = useQuery({
    queryKey: ["city", viewer, "station", stationId, "day", day],
    queryFn: ({ signal }) =>
      partnerId === undefined
        ? api.systemStations.history({ params, query, signal })
        : api.partnerStations.history({ params: { ...params, partner_id: partnerId }, query, signal }),
    refetchInterval: DAY_INTERVAL_MS,
  });
  const typical = useQuery({
    queryKey: ["city", viewer, "station", stationId, "typical"],
    queryFn: ({ signal }) =>
      partnerId === undefined
        ? api.systemSums.typical({ params, signal })
        : api.partnerSums.typical({ params: { ...params, partner_id: partnerId }, signal }),
    staleTime: WEEKS_FRESH_MS,
  });
  return { day, from, history, typical };
}

/** A chart of a station's day, compared with its usual day. */
export function StationDay(props: DayProps) {
  const { timeZone, at } = props;
  const { day, from, history, typical } = useStationDay(props);
  const steps = history.data?.data ?? [];
  if (history.data === undefined && history.error !== null)
    return <ErrorState error={history.error} onRetry={() => void history.refetch()} />;
  const bikes = valuesUntilNow(steps, (step) => step.bikes?.mean);
  const usual = usualOf(
    typical.data,
    day,
    steps.map((step) => step.from),
    timeZone,
  );
  const isToday = day === dayOf(new Date().getTime(), timeZone);
  const notes: readonly ChartNote[] = at === undefined ? [] : [{ at, text: cityText(at, timeZone, CLOCK) }];
  return (
    <LazyChart
      title={isToday ? "Bikes today" : `Bikes on ${cityText(from, timeZone, DATE)}`}
      times={steps.map((step) => step.from)}
      series={[
        { label: isToday ? "Today" : "That day", values: bikes, kind: "line" },
        ...(usual === undefined ? [] : [{ label: "Usually", values: usual, kind: "before" as const }]),
      ]}
      unit="bikes"
      timeZone={timeZone}
      notes={notes}
    >
      {typical.data?.is_ready === false ? "What is usual is shown once three weeks are known." : undefined}
    </LazyChart>
  );
}

/** Returns the usual number of bikes at each time; undefined if too little is known. */
function usualOf(
  typical: StationTypical | undefined,
  day: string,
  times: readonly string[],
  timeZone: string,
): readonly (number | null)[] | undefined {
  if (typical?.is_ready !== true) return undefined;
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay();
  const kind = weekday === 0 || weekday === 6 ? "weekend" : "weekday";
  // The usual day has one entry for each quarter of an hour, by its time of day: `08:15`.
  const quarters = new Map(
    typical.data
      .find((each) => each.kind === kind)
      ?.quarters.map((quarter) => [quarter.time, quarter.bikes?.median ?? null]),
  );
  return times.map((time) => quarters.get(cityText(time, timeZone, CLOCK)) ?? null);
}

/** What the heat map can show. `most`: the value with the darkest colour; undefined: the largest value of the week. */
const measures = {
  minutes_empty: { label: "Minutes without a bike", unit: "min", most: 60, tone: "danger" },
  minutes_full: { label: "Minutes without a dock", unit: "min", most: 60, tone: "info" },
  bikes: { label: "Bikes", unit: "bikes", most: undefined, tone: "accent" },
  rides_started: { label: "Rides started", unit: "rides", most: undefined, tone: "accent" },
  rides_ended: { label: "Rides ended", unit: "rides", most: undefined, tone: "accent" },
} as const;
type Measure = keyof typeof measures;

const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const hours = Array.from({ length: 24 }, (_, hour) => hour);

/** A heat map of a station by weekday and hour: when it is empty, full or busy. */
export function StationWeekView({ viewer, stationId }: Omit<DayProps, "timeZone">) {
  const [measure, setMeasure] = useState<Measure>("minutes_empty");
  const params = { system_id: viewer.systemId, id: stationId };
  const { partnerId } = viewer;
  const { data, error, refetch } = useQuery({
    queryKey: ["city", viewer, "station", stationId, "week"],
    queryFn: ({ signal }) =>
      partnerId === undefined
        ? api.systemSums.week({ params, signal })
        : api.partnerSums.week({ params: { ...params, partner_id: partnerId }, signal }),
    staleTime: WEEKS_FRESH_MS,
  });
  return (
    <section class="card week" aria-labelledby="week">
      <header class="row week-head">
        <h3 id="week">The week, hour by hour</h3>
        <SelectField
          label="Shown"
          value={measure}
          choices={Object.entries(measures).map(([value, { label }]) => ({ value, label }))}
          onChange={(value) => setMeasure(value as Measure)}
        />
      </header>
      {error !== null && data === undefined ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <WeekGrid cells={data?.data ?? []} measure={measure} />
      )}
    </section>
  );
}

/** The heat map as a table. Weekdays are numbered from 1, Monday. */
function WeekGrid({ cells, measure }: { readonly cells: StationWeek["data"]; readonly measure: Measure }) {
  const { label, unit, most, tone } = measures[measure];
  const byHour = new Map(cells.map((cell) => [`${cell.weekday} ${cell.hour}`, cell[measure]]));
  const highest = most ?? Math.max(1, ...cells.map((cell) => cell[measure] ?? 0));
  return (
    <table class={`week-grid week-${tone}`}>
      <caption>
        {label} in each hour, the mean of the last eight weeks. The darkest: {Math.round(highest * 10) / 10} {unit}.
      </caption>
      <thead>
        <tr>
          <td />
          {hours.map((hour) => (
            <th key={hour} scope="col">
              {hour % 6 === 0 ? String(hour).padStart(2, "0") : <span class="visually-hidden">{hour}</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {weekdays.map((weekday, index) => (
          <tr key={weekday}>
            <th scope="row">{weekday}</th>
            {hours.map((hour) => {
              const value = byHour.get(`${index + 1} ${hour}`);
              const text =
                value === undefined || value === null ? "not known" : `${Math.round(value * 10) / 10} ${unit}`;
              return (
                <td
                  key={hour}
                  title={`${weekday} ${hour}:00–${hour + 1}:00: ${text}`}
                  class={value === undefined || value === null ? "week-unknown" : undefined}
                  style={{ "--share": String(Math.min(1, (value ?? 0) / highest)) }}
                >
                  <span class="visually-hidden">{text}</span>
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface FlowsProps {
  readonly systemId: string;
  readonly stationId: string;
  readonly addressOf: (id: string) => string;
}

/** Most stations that are listed for each direction. */
const SHOWN_FLOWS = 8;

/** Lists and a map of where a station's rides came from and went to in the last four weeks. */
export function StationFlowsView({ systemId, stationId, addressOf }: FlowsProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["city", systemId, "station", stationId, "flows"],
    queryFn: ({ signal }) =>
      api.systemSums.flows({ params: { system_id: systemId, id: stationId }, query: {}, signal }),
    staleTime: WEEKS_FRESH_MS,
  });
  const { data: map } = useStations({ systemId, partnerId: undefined });
  const [, navigate] = useLocation();
  const flows = useMemo(
    () => [
      ...(data?.out ?? []).map(({ station_id: to, rides }) => ({ from: stationId, to, rides })),
      ...(data?.in ?? []).map(({ station_id: from, rides }) => ({ from, to: stationId, rides })),
    ],
    [data, stationId],
  );
  if (data === undefined && error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return (
    <section class="station-flows" aria-label="Rides from and to other stations">
      <StationFlowsMap map={map} stationId={stationId} flows={flows} onSelect={(id) => navigate(addressOf(id))} />
      <Flows title="Rides go to" flows={data?.out} total={data?.rides_out ?? 0} addressOf={addressOf} />
      <Flows title="Rides come from" flows={data?.in} total={data?.rides_in ?? 0} addressOf={addressOf} />
    </section>
  );
}

interface FlowListProps {
  readonly title: string;
  readonly flows: StationFlows["in"] | undefined;
  readonly total: number;
  readonly addressOf: (id: string) => string;
}

/** A list of stations with a bar for their rides. The first has the most. */
function Flows({ title, flows = [], total, addressOf }: FlowListProps) {
  const most = flows[0]?.rides ?? 1;
  return (
    <div class="card">
      <h3>{title}</h3>
      <p class="muted">{total.toLocaleString("en")} in the last four weeks</p>
      <ol class="flow-list">
        {flows.slice(0, SHOWN_FLOWS).map(({ station_id: id, name, rides }) => (
          <li key={id}>
            <Link href={addressOf(id)}>{name ?? id}</Link>
            <span class="flow-bar" aria-hidden="true">
              <span style={{ width: `${(rides / most) * 100}%` }} />
            </span>
            <b>{rides.toLocaleString("en")}</b>
          </li>
        ))}
      </ol>
    </div>
  );
}
