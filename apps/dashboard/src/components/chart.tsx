import { useEffect, useId, useRef, useState } from "preact/hooks";
import { niceMaximum, pointText, type Series, timeTexts } from "./chart-scale.ts";
import "./chart.css";

interface ChartProps {
  readonly title: string;
  /** RFC 3339, oldest first. */
  readonly times: readonly string[];
  /** At most three: more cannot be told apart. */
  readonly series: readonly Series[];
  readonly unit: string;
  /** A line to compare with, such as a limit. */
  readonly limit?: { readonly value: number; readonly label: string };
}

/** The width before the page is laid out. */
const USUAL_WIDTH = 640;
const HEIGHT = 160;
/** Room for the labels of the axis. */
const LEFT = 44;
const BOTTOM = 20;

/** Stacked bars over time. The same numbers stand in a table, for those who do not see the bars. */
export function Chart({ title, times, series, unit, limit }: ChartProps) {
  const id = useId();
  const figure = useRef<HTMLElement>(null);
  const width = useWidth(figure);
  const totals = times.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const maximum = niceMaximum(Math.max(...totals, limit?.value ?? 0, 1));
  const y = (value: number) => (HEIGHT - BOTTOM) * (1 - value / maximum) + 4;
  const timeText = timeTexts(times);
  // A chart that is hidden, or leaves the page, has no width.
  const step = Math.max(width - LEFT, 0) / Math.max(times.length, 1);
  return (
    <figure ref={figure} class="chart">
      <figcaption class="chart-head">
        <h3 id={id}>{title}</h3>
        {series.length > 1 && <Legend series={series} />}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${HEIGHT + 8}`} role="img" aria-labelledby={id}>
        {[0, 0.5, 1].map((part) => (
          <g key={part} class="chart-axis">
            <line x1={LEFT} x2={width} y1={y(maximum * part)} y2={y(maximum * part)} />
            <text x={LEFT - 6} y={y(maximum * part) + 3.5}>
              {(maximum * part).toLocaleString("en")}
            </text>
          </g>
        ))}
        {times.map((time, index) => (
          <Bar
            key={time}
            {...{ series, index, y }}
            x={LEFT + index * step}
            width={step}
            title={pointText(timeText(time), series, index, unit)}
          />
        ))}
        {limit !== undefined && (
          <g class="chart-limit">
            <line x1={LEFT} x2={width} y1={y(limit.value)} y2={y(limit.value)} />
            <text x={width} y={y(limit.value) - 4}>
              {limit.label}
            </text>
          </g>
        )}
        <TimeLabels times={times} width={width} />
      </svg>
      <Numbers {...{ title, times, series, unit }} />
    </figure>
  );
}

/** Returns the width of an element, so that the texts of a drawing in it keep their size on a phone. */
function useWidth(ref: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(USUAL_WIDTH);
  useEffect(() => {
    if (ref.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => entry !== undefined && setWidth(entry.contentRect.width));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

interface BarProps {
  readonly series: readonly Series[];
  readonly index: number;
  readonly x: number;
  readonly width: number;
  readonly title: string;
  readonly y: (value: number) => number;
}

function Bar({ series, index, x, width, title, y }: BarProps) {
  let below = 0;
  const gap = width > 4 ? 1 : 0;
  return (
    <g class="chart-bar">
      <title>{title}</title>
      <rect class="chart-hit" x={x} y={4} width={width} height={HEIGHT - BOTTOM} />
      {series.map(({ label, values }, position) => {
        const value = values[index] ?? 0;
        const top = y(below + value);
        const height = y(below) - top;
        below += value;
        return (
          value > 0 && (
            <rect
              key={label}
              class={`series-${position + 1}`}
              x={x}
              y={top}
              width={Math.max(width - gap, 0.5)}
              height={Math.max(height, 1)}
            />
          )
        );
      })}
    </g>
  );
}

function Legend({ series }: Pick<ChartProps, "series">) {
  return (
    <ul class="chart-legend">
      {series.map(({ label }, position) => (
        <li key={label}>
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <rect class={`series-${position + 1}`} width="10" height="10" rx="2" />
          </svg>
          {label}
        </li>
      ))}
    </ul>
  );
}

function TimeLabels({ times, width }: Pick<ChartProps, "times"> & { readonly width: number }) {
  const first = times[0];
  const last = times.at(-1);
  if (first === undefined || last === undefined) return null;
  const timeText = timeTexts(times);
  return (
    <g class="chart-times">
      <text x={LEFT} y={HEIGHT}>
        {timeText(first)}
      </text>
      <text class="chart-end" x={width} y={HEIGHT}>
        {timeText(last)}
      </text>
    </g>
  );
}

function Numbers({ title, times, series, unit }: Pick<ChartProps, "title" | "times" | "series" | "unit">) {
  const timeText = timeTexts(times);
  return (
    <details class="chart-numbers">
      <summary>Numbers</summary>
      <div class="chart-scroll" role="group" aria-label={`${title}: numbers`} tabIndex={0}>
        <table class="table">
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
                <td>{timeText(time)}</td>
                {series.map(({ label, values }) => (
                  <td key={label} class="align-end">
                    {(values[index] ?? 0).toLocaleString("en")}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
