/** The sizes and positions, in pixels, with which a chart is drawn. */

/** The height of the whole chart. */
export const HEIGHT = 176;
/** Pixels at the left edge, for the labels of the vertical axis. */
export const LEFT = 44;
/** The y coordinate of the top of the vertical axis. */
export const TOP = 8;
/** Pixels at the bottom edge, for the labels of the horizontal axis. */
const BOTTOM = 20;
/** The y coordinate of the value 0. */
export const FLOOR = HEIGHT - BOTTOM;

/** Converts steps and values of a chart to pixels. */
export interface Layout {
  readonly width: number;
  /** The number of steps. */
  readonly count: number;
  /** The value at the top of the vertical axis. */
  readonly maximum: number;
  /** Returns the left edge of a step; its middle for an index such as 2.5. */
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
}

/** Returns the layout of a chart with `count` steps. */
export function layoutOf(width: number, count: number, maximum: number): Layout {
  return {
    width,
    count,
    maximum,
    x: (index) => LEFT + (index * Math.max(width - LEFT, 0)) / Math.max(count, 1),
    y: (value) => TOP + (FLOOR - TOP) * (1 - value / maximum),
  };
}
