/** Lets a reader move through a chart and select a range of time, with the pointer or the arrow keys. */
import { useRef, useState } from "preact/hooks";
import { LEFT, type Layout } from "./chart-layout.ts";

/** Pixels that the pointer may move during a press before the press counts as a drag. */
const DRAG_SLOP_PX = 6;

interface ReadingOptions {
  readonly layout: Layout;
  readonly times: readonly string[];
  /** Called with the range of time that the reader has selected. Undefined: the reader cannot select a range. */
  readonly onRange: ((from: string, to: string) => void) | undefined;
}

/** Returns the step at which the reader is, the range that they are selecting, and the event handlers. */
export function useReading({ layout, times, onRange }: ReadingOptions) {
  const [movedTo, setMovedTo] = useState<number>();
  // The step at which a selection began. The selected range lies between it and the step at which the reader is.
  const [anchor, setAnchor] = useState<number>();
  const last = layout.count - 1;
  // The chart may show fewer steps now than when the reader moved.
  const at = movedTo === undefined || movedTo > last ? undefined : movedTo;
  const isChosen = at !== undefined && anchor !== undefined && anchor !== at;
  const range = isChosen ? { from: Math.min(at, anchor), to: Math.max(at, anchor) } : undefined;
  const reading: Reading = {
    at,
    last,
    layout,
    canChoose: onRange !== undefined,
    setAt: setMovedTo,
    setAnchor,
    move: (index, isChoosing) => {
      if (last < 0) return;
      setAnchor(isChoosing && onRange !== undefined ? (anchor ?? at ?? last) : undefined);
      setMovedTo(Math.max(0, Math.min(last, index)));
    },
    choose: () => {
      setAnchor(undefined);
      if (range === undefined) return;
      const from = times[range.from];
      if (from !== undefined) onRange?.(from, endOfStep(times, range.to));
    },
  };
  return { at, range, handlers: { ...keyHandlers(reading), ...usePointerHandlers(reading) } };
}

/**
 * Returns the end of a step, which is the start of the next one. The last step is as long as the one before it. There is
 * one, because a selected range has at least two steps.
 */
function endOfStep(times: readonly string[], index: number): string {
  const next = times[index + 1];
  if (next !== undefined) return next;
  const start = Date.parse(times[index] ?? "");
  const lengthMs = start - Date.parse(times[index - 1] ?? "");
  return new Date(start + lengthMs).toISOString();
}

/** Where the reader is in the chart, and the functions with which the handlers of keys and pointers move them. */
interface Reading {
  /** The step at which the reader is. Undefined: at none. */
  readonly at: number | undefined;
  /** The index of the last step. */
  readonly last: number;
  readonly layout: Layout;
  /** Whether a range of time can be selected. */
  readonly canChoose: boolean;
  readonly setAt: (at: number | undefined) => void;
  readonly setAnchor: (anchor: number | undefined) => void;
  /** Moves the reader to a step. `isChoosing`: the range from the step where this began is selected. */
  readonly move: (index: number, isChoosing: boolean) => void;
  /** Passes the selected range, if any, to `onRange`. */
  readonly choose: () => void;
}

/** Arrow keys, Home and End move the reader, and select a range with Shift. Enter passes the range on. Escape leaves. */
function keyHandlers({ at, last, setAt, setAnchor, move, choose }: Reading) {
  const leave = () => {
    setAnchor(undefined);
    setAt(undefined);
  };
  const keys: Readonly<Record<string, (isChoosing: boolean) => void>> = {
    // A reader who is at no step begins at the last one.
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
    // A reader who comes with the Tab key begins at the last step. A press focuses the chart too, and moves the reader itself.
    onFocus: (event: FocusEvent) => {
      if ((event.currentTarget as Element).matches(":focus-visible") && last >= 0) setAt(at ?? last);
    },
    onBlur: leave,
  };
}

/** A pointer moves the reader, and selects a range by dragging. A finger selects none, because it scrolls the page. */
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

/** Returns the pixels between the pointer and the left edge of the plot. */
function offsetOf(event: PointerEvent): number {
  return event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
}
