import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import {
  highest,
  niceMaximum,
  pointText,
  type Series,
  type TimeTexts,
  timeTexts,
  valueText,
  zonedTexts,
} from "./chart-scale.ts";
import "./chart.css";

interface ChartProps {
  /** Says what one sees. */
  readonly title: string;
  /** RFC 3339, oldest first: when each step begins. */
  readonly times: readonly string[];
  /** At most five: more cannot be told apart. */
  readonly series: readonly Series[];
  readonly unit: string;
  /** A sentence below the title. */
  readonly children?: ComponentChildren;
  /** A line to compare with, such as a limit. */
  readonly limit?: { readonly value: number; readonly label: string };
  /** The zone that times are shown in; undefined: the reader's. */
  readonly timeZone?: string | undefined;
  /** What happened at a time. */
  readonly notes?: readonly ChartNote[];
  /** The reader has chosen a part of the time, by dragging over it or with Shift and the arrow keys, then Enter. */
  readonly onRange?: (from: string, to: string) => void;
}

export interface ChartNote {
  readonly at: string;
  readonly text: string;
}

/** The width before the page is laid out. */
const USUAL_WIDTH = 640;
const HEIGHT = 176;
/** Room for the labels of the axes. */
const LEFT = 44;
const TOP = 8;
const BOTTOM = 20;
const FLOOR = HEIGHT - BOTTOM;
/** More bars are drawn as steps, without room between them. */
const MAX_SEPARATE_BARS = 200;
/** Pixels that a pointer trembles in a press. */
const DRAG_SLOP_PX = 6;

/** What is drawn where. */
interface Layout {
  readonly width: number;
  readonly count: number;
  readonly maximum: number;
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
}

/** Series over time. Values are read with the pointer or the arrow keys, and the same numbers stand in a table. */
export function Chart(props: ChartProps) {
  const { title, times, series, unit, limit, timeZone, notes = [], children, onRange } = props;
  const id = useId();
  const figure = useRef<HTMLElement>(null);
  const width = useWidth(figure);
  const maximum = niceMaximum(Math.max(highest(series, times.length), limit?.value ?? 0, 1));
  const layout: Layout = {
    width,
    count: times.length,
    maximum,
    x: (index) => LEFT + (index * Math.max(width - LEFT, 0)) / Math.max(times.length, 1),
    y: (value) => TOP + (FLOOR - TOP) * (1 - value / maximum),
  };
  const texts = useMemo(() => textsOf(times, timeZone, width - LEFT), [times, timeZone, width]);
  return (
    <figure ref={figure} class="chart">
      <figcaption class="chart-head">
        <div>
          <h3 id={id}>{title}</h3>
          {children !== undefined && <p class="muted">{children}</p>}
        </div>
        {series.length > 1 && <Legend series={series} />}
      </figcaption>
      <Plot {...{ id, layout, texts, times, series, unit, limit, notes, onRange }} />
      <Numbers {...{ title, times, series, unit }} timeText={texts.full} />
    </figure>
  );
}

interface PlotProps extends Pick<ChartProps, "times" | "series" | "unit"> {
  readonly limit: ChartProps["limit"];
  /** Of the title. */
  readonly id: string;
  readonly layout: Layout;
  readonly texts: TimeTexts;
  readonly notes: readonly ChartNote[];
  readonly onRange: ChartProps["onRange"];
}

/** The drawing, through which the reader moves as on a slider. */
function Plot({ id, layout, texts, times, series, unit, limit, notes, onRange }: PlotProps) {
  const { at, range, handlers } = useReading({ layout, times, onRange });
  const last = times.length - 1;
  const shown = at ?? last;
  return (
    <div
      class="chart-plot"
      role="slider"
      tabIndex={0}
      aria-labelledby={id}
      aria-orientation="horizontal"
      aria-valuemin={1}
      aria-valuemax={Math.max(times.length, 1)}
      aria-valuenow={Math.max(shown, 0) + 1}
      aria-valuetext={last < 0 ? "No data" : pointText(texts.full(times[shown] ?? ""), series, shown, unit)}
      {...handlers}
    >
      <svg viewBox={`0 0 ${layout.width} ${HEIGHT}`} height={HEIGHT} aria-hidden="true">
        <Axis layout={layout} ticks={texts.ticks} />
        {series.map((each, position) => (
          <Shape key={each.label} {...{ series, each, position, layout }} />
        ))}
        {limit !== undefined && <Limit {...limit} layout={layout} />}
        <Notes notes={notes} times={times} layout={layout} />
        {range !== undefined && (
          <rect
            class="chart-range"
            x={layout.x(range.from)}
            y={TOP}
            width={layout.x(range.to + 1) - layout.x(range.from)}
            height={FLOOR - TOP}
          />
        )}
        {at !== undefined && <Cursor at={at} series={series} layout={layout} />}
      </svg>
      {at !== undefined && (
        <Values
          x={layout.x(at + 0.5)}
          width={layout.width}
          time={texts.full(times[at] ?? "")}
          {...{ series, unit, at }}
        />
      )}
    </div>
  );
}

function Limit({ value, label, layout }: NonNullable<ChartProps["limit"]> & { readonly layout: Layout }) {
  const y = layout.y(value);
  return (
    <g class="chart-limit">
      <line x1={LEFT} x2={layout.width} y1={y} y2={y} />
      <text x={layout.width} y={y - 4}>
        {label}
      </text>
    </g>
  );
}

/** Times in a system's zone, or as charts of requests show them: by the reader's clock, and days in UTC. */
function textsOf(times: readonly string[], timeZone: string | undefined, width: number): TimeTexts {
  if (timeZone !== undefined) return zonedTexts(times, timeZone, width);
  const full = timeTexts(times);
  const [first, last] = [times[0], times.at(-1)];
  const ends = first === undefined || last === undefined ? [] : [0, times.length - 1];
  return { full, ticks: ends.map((index) => ({ index, text: full(times[index] ?? "") })) };
}

/** Returns the width of an element, so that the texts of a drawing in it keep their size on a phone. */
function useWidth(ref: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(USUAL_WIDTH);
  useEffect(() => {
    if (ref.current === null) return undefined;
    const observer = new ResizeObserver(
      ([entry]) => entry !== undefined && setWidth(Math.floor(entry.contentRect.width)),
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

interface ReadingOptions {
  readonly layout: Layout;
  readonly times: readonly string[];
  readonly onRange: ChartProps["onRange"];
}

/** Where in the chart the reader is, and which part they are choosing. */
function useReading({ layout, times, onRange }: ReadingOptions) {
  const [read, setAt] = useState<number>();
  const [anchor, setAnchor] = useState<number>();
  const last = layout.count - 1;
  // Other times may be shown since the reader was there.
  const at = read === undefined || read > last ? undefined : read;
  const isChosen = at !== undefined && anchor !== undefined && anchor !== at;
  const range = isChosen ? { from: Math.min(at, anchor), to: Math.max(at, anchor) } : undefined;
  const reading: Reading = {
    ...{ at, last, layout, canChoose: onRange !== undefined, setAt, setAnchor },
    move: (index, isChoosing) => {
      if (last < 0) return;
      setAnchor(isChoosing && onRange !== undefined ? (anchor ?? at ?? last) : undefined);
      setAt(Math.max(0, Math.min(last, index)));
    },
    choose: () => {
      setAnchor(undefined);
      const [from, end] = [times[range?.from ?? -1], times[(range?.to ?? last) + 1]];
      if (from === undefined) return;
      // The last step has no step after it: it is as long as the one before.
      onRange?.(
        from,
        end ?? new Date(2 * Date.parse(times[last] ?? "") - Date.parse(times[last - 1] ?? "")).toISOString(),
      );
    },
  };
  return { at, range, handlers: { ...keyHandlers(reading), ...usePointerHandlers(reading) } };
}

interface Reading {
  readonly at: number | undefined;
  /** The index of the last step. */
  readonly last: number;
  readonly layout: Layout;
  /** A part of the time can be chosen. */
  readonly canChoose: boolean;
  readonly setAt: (at: number | undefined) => void;
  readonly setAnchor: (anchor: number | undefined) => void;
  readonly move: (index: number, isChoosing: boolean) => void;
  /** Takes the part that is chosen, if one is. */
  readonly choose: () => void;
}

function keyHandlers({ at, last, setAt, setAnchor, move, choose }: Reading) {
  const leave = () => {
    setAnchor(undefined);
    setAt(undefined);
  };
  const keys: Readonly<Record<string, (isChoosing: boolean) => void>> = {
    ArrowLeft: (isChoosing) => move((at ?? last + 1) - 1, isChoosing),
    ArrowRight: (isChoosing) => move((at ?? last - 1) + 1, isChoosing),
    Home: (isChoosing) => move(0, isChoosing),
    End: (isChoosing) => move(last, isChoosing),
    Enter: choose,
    Escape: leave,
  };
  return {
    onKeyDown: (event: KeyboardEvent) => {
      const act = keys[event.key];
      if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act(event.shiftKey);
    },
    onFocus: (event: FocusEvent) => {
      if ((event.currentTarget as Element).matches(":focus-visible") && last >= 0) setAt(at ?? last);
    },
    onBlur: leave,
  };
}

function usePointerHandlers({ last, layout, canChoose, setAt, setAnchor, choose }: Reading) {
  const drag = useRef<{ readonly x: number; readonly index: number }>(undefined);
  const indexAt = (x: number) =>
    Math.max(0, Math.min(last, Math.floor(((x - LEFT) / Math.max(layout.width - LEFT, 1)) * layout.count)));
  const end = () => {
    drag.current = undefined;
    setAnchor(undefined);
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      if (!canChoose || event.pointerType === "touch" || last < 0) return;
      drag.current = { x: offsetOf(event), index: indexAt(offsetOf(event)) };
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      if (last < 0) return;
      const x = offsetOf(event);
      if (drag.current !== undefined && Math.abs(x - drag.current.x) > DRAG_SLOP_PX) setAnchor(drag.current.index);
      setAt(indexAt(x));
    },
    onPointerUp: () => {
      if (drag.current !== undefined) choose();
      end();
    },
    onPointerLeave: () => {
      if (drag.current === undefined) setAt(undefined);
    },
    onPointerCancel: end,
  };
}

/** Pixels from the left of the plot, whatever the pointer is over. */
function offsetOf(event: PointerEvent): number {
  return event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
}

function Axis({ layout, ticks }: { readonly layout: Layout; readonly ticks: TimeTexts["ticks"] }) {
  const { width, maximum, x, y } = layout;
  return (
    <g class="chart-axis">
      {[0, 0.5, 1].map((part) => (
        <g key={part}>
          <line x1={LEFT} x2={width} y1={y(maximum * part)} y2={y(maximum * part)} />
          <text class="chart-value" x={LEFT - 8} y={y(maximum * part) + 3.5}>
            {valueText(maximum * part)}
          </text>
        </g>
      ))}
      {ticks.map(({ index, text }) => {
        const left = x(index);
        // The last label would be cut at the edge.
        const isAtEnd = left > width - 40;
        return (
          <text key={index} class={isAtEnd ? "chart-end" : undefined} x={isAtEnd ? width : left} y={HEIGHT - 5}>
            {text}
          </text>
        );
      })}
    </g>
  );
}

interface ShapeProps {
  readonly series: readonly Series[];
  readonly each: Series;
  readonly position: number;
  readonly layout: Layout;
}

/** One path for a series, however many points it has. */
function Shape({ series, each, position, layout }: ShapeProps) {
  const { kind = "bars", values } = each;
  const colour = colourOf(each, position);
  if (kind === "line" || kind === "before")
    return <path class={kind === "before" ? "chart-before" : `chart-line ${colour}`} d={linePath(values, layout)} />;
  const below = series.slice(0, position).filter((other) => (other.kind ?? "bars") === kind);
  const bottoms = values.map((_, index) => below.reduce((sum, other) => sum + (other.values[index] ?? 0), 0));
  return kind === "area" ? (
    <path class={`chart-area ${colour}`} d={areaPath(values, bottoms, layout)} />
  ) : (
    <path class={`chart-bars ${colour}`} d={barsPath(values, bottoms, layout)} />
  );
}

const rounded = (value: number) => Math.round(value * 10) / 10;

function linePath(values: Series["values"], { x, y }: Layout): string {
  let isBroken = true;
  return values
    .map((value, index) => {
      if (value === null) {
        isBroken = true;
        return "";
      }
      const command = isBroken ? "M" : "L";
      // A value between two that are not known is a dot: a line of no length has round ends.
      const isAlone = isBroken && (values[index + 1] ?? null) === null;
      isBroken = false;
      return `${command}${rounded(x(index + 0.5))} ${rounded(y(value))}${isAlone ? "h0" : ""}`;
    })
    .join("");
}

/** Nothing is drawn where nothing is known: each stretch of known values is a shape of its own. */
function areaPath(values: Series["values"], bottoms: readonly number[], { x, y }: Layout): string {
  const stretches: number[][] = [];
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    if (index === 0 || values[index - 1] === null) stretches.push([]);
    stretches.at(-1)?.push(index);
  }
  return stretches
    .map((stretch) => {
      const point = (index: number, value: number) => `${rounded(x(index + 0.5))} ${rounded(y(value))}`;
      const top = stretch.map((index) => point(index, (bottoms[index] ?? 0) + (values[index] ?? 0)));
      const bottom = stretch.toReversed().map((index) => point(index, bottoms[index] ?? 0));
      return `M${[...top, ...bottom].join("L")}Z`;
    })
    .join("");
}

function barsPath(values: Series["values"], bottoms: readonly number[], { x, y, count }: Layout): string {
  const gap = count <= MAX_SEPARATE_BARS && x(1) - x(0) > 4 ? Math.min(2, (x(1) - x(0)) * 0.2) : 0;
  return values
    .map((value, index) => {
      if (value === null || value === 0) return "";
      const [left, right] = [rounded(x(index) + gap / 2), rounded(x(index + 1) - gap / 2)];
      const bottom = rounded(y(bottoms[index] ?? 0));
      const top = Math.min(rounded(y((bottoms[index] ?? 0) + value)), bottom - 1);
      return `M${left} ${bottom}V${top}H${right}V${bottom}Z`;
    })
    .join("");
}

function Notes({
  notes,
  times,
  layout,
}: {
  readonly notes: readonly ChartNote[];
  readonly times: readonly string[];
  readonly layout: Layout;
}) {
  return (
    <g class="chart-notes">
      {notes.map(({ at, text }) => {
        const index = times.findLastIndex((time) => time <= at);
        if (index < 0) return null;
        const x = layout.x(index + 0.5);
        return (
          <g key={`${at} ${text}`}>
            <line x1={x} x2={x} y1={TOP} y2={FLOOR} />
            <text
              class={x > layout.width / 2 ? "chart-end" : undefined}
              x={x > layout.width / 2 ? x - 5 : x + 5}
              y={TOP + 9}
            >
              {text}
            </text>
          </g>
        );
      })}
    </g>
  );
}

function Cursor({
  at,
  series,
  layout,
}: {
  readonly at: number;
  readonly series: readonly Series[];
  readonly layout: Layout;
}) {
  const x = layout.x(at + 0.5);
  return (
    <g class="chart-cursor">
      <line x1={x} x2={x} y1={TOP} y2={FLOOR} />
      {series.map((each, position) => {
        const value = each.values[at];
        if (each.kind !== "line" || value === null || value === undefined) return null;
        return <circle key={each.label} class={colourOf(each, position)} cx={x} cy={layout.y(value)} r="3.5" />;
      })}
    </g>
  );
}

interface ValuesProps {
  readonly x: number;
  readonly width: number;
  readonly time: string;
  readonly series: readonly Series[];
  readonly unit: string;
  readonly at: number;
}

const VALUES_WIDTH_PX = 190;

/** The values at the reader's place. The slider's value says the same. */
function Values({ x, width, time, series, unit, at }: ValuesProps) {
  const left = x + VALUES_WIDTH_PX + 14 > width ? Math.max(0, x - VALUES_WIDTH_PX - 12) : x + 12;
  return (
    <div class="chart-values" aria-hidden="true" style={{ left: `${left}px` }}>
      <strong>{time}</strong>
      {series.map((each, position) => (
        <span key={each.label}>
          <Swatch of={each} position={position} />
          <span>{series.length === 1 ? unit : each.label}</span>
          <b>{valueText(each.values[at])}</b>
        </span>
      ))}
    </div>
  );
}

function colourOf({ tone }: Series, position: number): string {
  return `series-${tone ?? position + 1}`;
}

function Swatch({ of, position }: { readonly of: Series; readonly position: number }) {
  const { kind } = of;
  const colour = colourOf(of, position);
  return (
    <svg class="chart-swatch" viewBox="0 0 12 12" aria-hidden="true">
      {kind === "line" || kind === "before" ? (
        <path class={kind === "before" ? "chart-before" : `chart-line ${colour}`} d="M0 6h12" />
      ) : (
        <rect class={`chart-bars ${colour}`} x="1" y="1" width="10" height="10" rx="2" />
      )}
    </svg>
  );
}

function Legend({ series }: Pick<ChartProps, "series">) {
  return (
    <ul class="chart-legend">
      {series.map((each, position) => (
        <li key={each.label}>
          <Swatch of={each} position={position} />
          {each.label}
        </li>
      ))}
    </ul>
  );
}

interface NumbersProps extends Pick<ChartProps, "title" | "times" | "series" | "unit"> {
  readonly timeText: (time: string) => string;
}

/** The table has as many rows as the chart has steps: it is made when it is opened. */
function Numbers({ title, times, series, unit, timeText }: NumbersProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="chart-numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Numbers</summary>
      {isOpen && (
        <table class="chart-table">
          <caption class="visually-hidden">
            {title}, {unit}
          </caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {series.map(({ label }) => (
                <th key={label} scope="col" class="align-end">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.map((time, index) => (
              <tr key={time}>
                <th scope="row">{timeText(time)}</th>
                {series.map(({ label, values }) => (
                  <td key={label} class="align-end">
                    {valueText(values[index])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}
