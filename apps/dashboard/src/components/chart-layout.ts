/** Where the parts of a chart are drawn. */

export const HEIGHT = 176;
/** Room for the labels of the axes. */
export const LEFT = 44;
export const TOP = 8;
const BOTTOM = 20;
export const FLOOR = HEIGHT - BOTTOM;

/** What is drawn where. */
export interface Layout {
  readonly width: number;
  readonly count: number;
  readonly maximum: number;
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
}

/** Returns the layout of a chart of so many steps, the top of whose axis is `maximum`. */
export function layoutOf(width: number, count: number, maximum: number): Layout {
  return {
    ...{ width, count, maximum },
    x: (index) => LEFT + (index * Math.max(width - LEFT, 0)) / Math.max(count, 1),
    y: (value) => TOP + (FLOOR - TOP) * (1 - value / maximum),
  };
}
