/** How a reader moves through a chart, and chooses a part of its time: with the pointer or the arrow keys. */
import { useRef, useState } from "preact/hooks";
import { LEFT, type Layout } from "./chart-layout.ts";

/** Pixels that a pointer trembles in a press. */
const DRAG_SLOP_PX = 6;

interface ReadingOptions {
  readonly layout: Layout;
  readonly times: readonly string[];
  /** The reader has chosen a part of the time; undefined: none can be chosen. */
  readonly onRange: ((from: string, to: string) => void) | undefined;
}

/** Where in the chart the reader is, and which part they are choosing. */
export function useReading({ layout, times, onRange }: ReadingOptions) {
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
