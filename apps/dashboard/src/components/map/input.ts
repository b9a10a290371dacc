/** The input of a map's canvas: size, theme colours, wheel and pointers. */
import { useEffect, useRef, useState } from "preact/hooks";
import { AVAILABILITIES, type Availability } from "./availability.ts";
import type { MapColours } from "./marks.ts";
import type { Point, Size } from "./viewport.ts";

type CanvasRef = { readonly current: HTMLCanvasElement | null };

/** Returns the canvas's size on the page, in CSS pixels; undefined until it is laid out. */
export function useSize(ref: CanvasRef): Size | undefined {
  const [size, setSize] = useState<Size>();
  useEffect(() => {
    const canvas = ref.current;
    if (canvas === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setSize({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    observer.observe(canvas);
    return () => observer.disconnect();
  }, []);
  return size;
}

/** Returns the theme's colours, and updates them when the theme changes. */
export function useColours(ref: CanvasRef): MapColours | undefined {
  const [colours, setColours] = useState<MapColours>();
  useEffect(() => {
    const read = () => ref.current && setColours(readColours(ref.current));
    read();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const observer = new MutationObserver(read);
    scheme.addEventListener("change", read);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "style"] });
    return () => {
      scheme.removeEventListener("change", read);
      observer.disconnect();
    };
  }, []);
  return colours;
}

/** The CSS variable with the colour of each availability. With `-surface` at its end: its faint colour. */
const kindTokens: Readonly<Record<Availability, string>> = {
  bikes: "success",
  few: "warning",
  empty: "danger",
  full: "info",
  closed: "neutral",
};

/**
 * Reads the colours through the canvas's `color` property, because browsers resolve `light-dark()` for properties but not
 * for variables.
 */
function readColours(canvas: HTMLElement): MapColours {
  const styles = getComputedStyle(canvas);
  const colour = (name: string) => {
    canvas.style.color = `var(--${name})`;
    return styles.color;
  };
  const kinds = AVAILABILITIES.map((kind) => {
    const token = kindTokens[kind];
    return [kind, { strong: colour(token), faint: colour(`${token}-surface`) }] as const;
  });
  const colours = {
    text: colour("text"),
    muted: colour("text-muted"),
    line: colour("border"),
    raised: colour("surface-raised"),
    surface: colour("surface"),
    accent: colour("accent-text"),
    danger: colour("danger"),
    font: styles.fontFamily,
    kinds: Object.fromEntries(kinds) as MapColours["kinds"],
  };
  canvas.style.color = "";
  return colours;
}

/**
 * Zooms on a wheel event that `isTaken` accepts, and keeps the page from scrolling. Only a listener that is not passive can
 * do that.
 */
export function useWheel(
  ref: CanvasRef,
  isTaken: (event: WheelEvent) => boolean,
  onWheel: (at: Point, delta: number) => void,
): void {
  const latest = useRef({ isTaken, onWheel });
  latest.current = { isTaken, onWheel };
  useEffect(() => {
    const canvas = ref.current;
    const listener = (event: WheelEvent) => {
      if (!latest.current.isTaken(event)) return;
      event.preventDefault();
      // Browsers report a pinch on a touchpad as a wheel event with the control key and smaller steps.
      latest.current.onWheel({ x: event.offsetX, y: event.offsetY }, event.deltaY * (event.ctrlKey ? 5 : 1));
    };
    canvas?.addEventListener("wheel", listener, { passive: false });
    return () => canvas?.removeEventListener("wheel", listener);
  }, []);
}

interface PointerActions {
  /** Called with the pixels by which the map is dragged. */
  readonly onPan: (dx: number, dy: number) => void;
  readonly onPinch: (factor: number, at: Point) => void;
  readonly onPress: (at: Point) => void;
  /** Called with the point under the pointer; undefined: the pointer has left the map. */
  readonly onHover: (at: Point | undefined) => void;
}

/** Pixels that a pointer may move during a press before the press counts as a drag. */
const PRESS_SLOP_PX = 4;

interface Gesture {
  /** The pressed pointers by their ids, each where it was pressed or where it last moved the map. */
  readonly pointers: Map<number, Point>;
  /** Where the first pointer was pressed. */
  start: Point;
  isDrag: boolean;
}

/** Returns the pointer handlers of a map: one pointer drags it, two zoom it, and a press selects a point. */
export function usePointers({ onPan, onPinch, onPress, onHover }: PointerActions) {
  const gesture = useRef<Gesture>({ pointers: new Map(), start: { x: 0, y: 0 }, isDrag: false }).current;
  /** Forgets a pressed pointer. Returns false if it was not pressed on the map. */
  const end = (event: PointerEvent): boolean => gesture.pointers.delete(event.pointerId);
  return {
    onPointerDown: (event: PointerEvent) => {
      // Only the primary button: the secondary one opens the browser's menu, and the page may then get no `pointerup`.
      if (event.button !== 0) return;
      const at = { x: event.offsetX, y: event.offsetY };
      gesture.pointers.set(event.pointerId, at);
      if (gesture.pointers.size === 1) Object.assign(gesture, { start: at, isDrag: false });
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const at = { x: event.offsetX, y: event.offsetY };
      const before = gesture.pointers.get(event.pointerId);
      if (before === undefined) {
        if (event.pointerType === "mouse") onHover(at);
        return;
      }
      const [other] = [...gesture.pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      gesture.isDrag ||= other !== undefined || distance(at, gesture.start) > PRESS_SLOP_PX;
      if (!gesture.isDrag) return;
      gesture.pointers.set(event.pointerId, at);
      if (other === undefined) return onPan(at.x - before.x, at.y - before.y);
      const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 };
      onPinch(distance(at, other) / Math.max(1, distance(before, other)), middle);
      // The middle of two pointers moves half as far as the pointer that moved.
      onPan((at.x - before.x) / 2, (at.y - before.y) / 2);
    },
    onPointerUp: (event: PointerEvent) => {
      if (end(event) && !gesture.isDrag) onPress({ x: event.offsetX, y: event.offsetY });
    },
    onPointerCancel: (event: PointerEvent) => void end(event),
    onPointerLeave: () => onHover(undefined),
  };
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
