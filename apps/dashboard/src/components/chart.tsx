import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { FLOOR, HEIGHT, type Layout, layoutOf, LEFT, TOP } from "./chart-layout.ts";
import { useReading } from "./chart-reading.ts";
import {
  highest,
  niceMaximum,
  pointText,
  type Series,
  type TimeTexts,
  unzonedText,
  valueText,
  zonedTexts,
} from "./chart-scale.ts";
import { colourOf, Shape } from "./chart-shape.tsx";
import "./chart.css";
import "./tip.css";

interface ChartProps {
  /** What the chart shows. */
  readonly title: string;
  /** The start of each step, in RFC 3339, oldest first. */
  readonly times: readonly string[];
  /** At most five, because readers cannot tell more colours apart. */
  readonly series: readonly Series[];
  readonly unit: string;
  /** A sentence below the title. */
  readonly children?: ComponentChildren;
  /** A line to compare with, such as a limit. */
  readonly limit?: { readonly value: number; readonly label: string };
  /** The time zone of the labels. Undefined: days are named in UTC, times of day in the zone of the pages. */
  readonly timeZone?: string | undefined;
  /** Marks events at points in time. */
  readonly notes?: readonly ChartNote[];
  /**
   * Called when the reader has selected a range of steps, by dragging, or with Shift and the arrow keys and then Enter.
   * `from` is the start of its first step, and `to` the end of its last.
   */
  readonly onRange?: (from: string, to: string) => void;
}

/** A text at the step of a chart in which something happened. `at` is in RFC 3339. */
export interface ChartNote {
  readonly at: string;
  readonly text: string;
}

/** The width in pixels until the page is laid out. */
const USUAL_WIDTH = 640;

/** Series over time. Readers move to a value with the pointer or the arrow keys, or open a table with the same numbers. */
export function Chart(props: ChartProps) {
  const { title, times, series, unit, limit, timeZone, notes = [], children, onRange } = props;
  const id = useId();
  const figure = useRef<HTMLElement>(null);
  const width = useWidth(figure);
  const maximum = niceMaximum(Math.max(highest(series, times.length), limit?.value ?? 0, 1));
  const layout = layoutOf(width, times.length, maximum);
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
  /** The id of the title's element. */
  readonly id: string;
  readonly layout: Layout;
  readonly texts: TimeTexts;
  readonly notes: readonly ChartNote[];
  readonly onRange: ChartProps["onRange"];
}

/** The drawing of the chart. For assistive technology it is a slider whose value is the step at which the reader is. */
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
        {at !== undefined && <ReadingLine at={at} series={series} layout={layout} />}
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

/**
 * Returns the texts of the times. With a time zone: labels at round times of that zone. Without one: labels at both
 * ends, and days in UTC.
 */
function textsOf(times: readonly string[], timeZone: string | undefined, width: number): TimeTexts {
  if (timeZone !== undefined) return zonedTexts(times, timeZone, width);
  const full = unzonedText(times);
  const ends = times.length === 0 ? [] : [0, times.length - 1];
  return { full, ticks: ends.map((index) => ({ index, text: full(times[index] ?? "") })) };
}

/** Returns the width of an element. A drawing of this width is not scaled, so its texts keep their size on a phone. */
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

/** Pixels at the right edge within which a label below the axis would be cut off. */
const TICK_LABEL_PX = 40;

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
        // Aligns the last label to the right edge, which would cut it off otherwise.
        const isAtEnd = left > width - TICK_LABEL_PX;
        return (
          <text key={index} class={isAtEnd ? "chart-end" : undefined} x={isAtEnd ? width : left} y={HEIGHT - 5}>
            {text}
          </text>
        );
      })}
    </g>
  );
}

/** Vertical lines with a text, each at the step in which something happened. */
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
        // The step in which the event happened. Texts in RFC 3339 and UTC sort as their times do.
        const index = times.findLastIndex((time) => time <= at);
        if (index < 0) return null;
        const x = layout.x(index + 0.5);
        // In the right half the text is to the left of its line, where the edge does not cut it off.
        const isRightHalf = x > layout.width / 2;
        return (
          <g key={`${at} ${text}`}>
            <line x1={x} x2={x} y1={TOP} y2={FLOOR} />
            <text class={isRightHalf ? "chart-end" : undefined} x={isRightHalf ? x - 5 : x + 5} y={TOP + 9}>
              {text}
            </text>
          </g>
        );
      })}
    </g>
  );
}

/** A vertical line at the step where the reader is, with a dot on each line of the chart. */
function ReadingLine({
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
/** Pixels between the values and the vertical line at the step where the reader is. */
const VALUES_GAP_PX = 12;
/** Pixels that stay free between the values and the right edge. */
const VALUES_MARGIN_PX = 2;

/** The values at the step where the reader is. Hidden from screen readers, which read the slider's value. */
function Values({ x, width, time, series, unit, at }: ValuesProps) {
  // To the right of the line, or to its left if there is no space on the right.
  const isNearEnd = x + VALUES_GAP_PX + VALUES_WIDTH_PX + VALUES_MARGIN_PX > width;
  const left = isNearEnd ? Math.max(0, x - VALUES_WIDTH_PX - VALUES_GAP_PX) : x + VALUES_GAP_PX;
  return (
    <div class="tip chart-values" aria-hidden="true" style={{ left: `${left}px` }}>
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

/**
 * A sample of a series, in the legend and beside its values: a short line for lines (`before` has the values to compare
 * with), a square for bars and areas.
 */
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

/** A table of the chart's numbers. It is rendered only when it is opened, because it may have many rows. */
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
