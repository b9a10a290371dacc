/** The input of the map's canvas: size, theme colours, wheel and pointer. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { MapColours } from "./draw-map.ts";
import type { Point, Size } from "./viewport.ts";

type CanvasRef = { readonly current: HTMLCanvasElement | null };

/** Returns the canvas's size on the page, in CSS pixels. */
export function useSize(ref: CanvasRef): Size {
  const [size, setSize] = useState<Size>({ width: 640, height: 400 });
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

/** Returns the theme's colours, again whenever the theme changes. */
export function useColours(ref: CanvasRef): MapColours | undefined {
  const [colours, setColours] = useState<MapColours>();
  useEffect(() => {
    const read = () => ref.current && setColours(readColours(ref.current));
    read();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const observer = new MutationObserver(read);
    scheme.addEventListener("change", read);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      scheme.removeEventListener("change", read);
      observer.disconnect();
    };
  }, []);
  return colours;
}

/** `light-dark()` is resolved for a property of an element only, not for a variable. */
function readColours(canvas: HTMLElement): MapColours {
  const colour = (name: string) => {
    canvas.style.color = `var(${name})`;
    return getComputedStyle(canvas).color;
  };
  const colours = {
    text: colour("--text"),
    muted: colour("--text-muted"),
    line: colour("--border"),
    surface: colour("--surface"),
    kinds: {
      bikes: colour("--success"),
      few: colour("--warning"),
      empty: colour("--danger"),
      full: colour("--info"),
      closed: colour("--text-muted"),
    },
  };
  canvas.style.color = "";
  return colours;
}

/** Wheels zoom, and do not scroll the page meanwhile: for that the listener must not be passive. */
export function useWheel(ref: CanvasRef, onWheel: (at: Point, delta: number) => void): void {
  const latest = useRef(onWheel);
  latest.current = onWheel;
  useEffect(() => {
    const canvas = ref.current;
    const listener = (event: WheelEvent) => {
      event.preventDefault();
      latest.current({ x: event.offsetX, y: event.offsetY }, event.deltaY);
    };
    canvas?.addEventListener("wheel", listener, { passive: false });
    return () => canvas?.removeEventListener("wheel", listener);
  }, []);
}

interface PointerActions {
  readonly onPan: (dx: number, dy: number) => void;
  readonly onPress: (at: Point) => void;
}

/** Pixels that a finger trembles in a press. */
const PRESS_SLOP_PX = 4;

export function usePointer({ onPan, onPress }: PointerActions) {
  const start = useRef<{ readonly x: number; readonly y: number; isDrag: boolean } | undefined>(undefined);
  return {
    onPointerDown: (event: PointerEvent) => {
      start.current = { x: event.clientX, y: event.clientY, isDrag: false };
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const from = start.current;
      if (from === undefined) return;
      const isFar = Math.hypot(event.clientX - from.x, event.clientY - from.y) > PRESS_SLOP_PX;
      if (!from.isDrag && !isFar) return;
      from.isDrag = true;
      onPan(event.movementX, event.movementY);
    },
    onPointerUp: (event: PointerEvent) => {
      if (start.current?.isDrag === false) onPress({ x: event.offsetX, y: event.offsetY });
      start.current = undefined;
    },
    onPointerCancel: () => (start.current = undefined),
  };
}
