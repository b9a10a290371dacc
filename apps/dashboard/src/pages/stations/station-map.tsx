import type { MappedStation } from "@bikeshare/contract/console";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../components/icon.tsx";
import { type Drawing, paint, stationAt } from "./draw-map.ts";
import { useColours, usePointer, useSize, useWheel } from "./map-input.ts";
import { fit, pan, type Point, type Viewport, zoom } from "./viewport.ts";

interface StationMapProps {
  readonly stations: readonly MappedStation[];
  readonly matching: ReadonlySet<string>;
  readonly selectedId: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
}

/** Pixels of one press of an arrow key. */
const STEP_PX = 60;
const ZOOM_STEP = 1.5;
/** The zoom of one notch of a wheel. */
const WHEEL_ZOOM = 0.0015;

/** A map of the stations. The table shows the same for readers who cannot see the map. */
export function StationMap({ stations, matching, selectedId, onSelect }: StationMapProps) {
  const ref = useRef<HTMLCanvasElement>(null);
  const size = useSize(ref);
  const [moved, setView] = useState<Viewport>();
  const colours = useColours(ref);
  const view = moved ?? fit(stations, size);
  const drawing: Drawing = { stations, matching, selectedId, view, size };
  useEffect(() => {
    if (ref.current !== null && colours !== undefined) paint(ref.current, drawing, colours);
  });
  const zoomBy = (factor: number, at: Point = { x: size.width / 2, y: size.height / 2 }) =>
    setView(zoom(view, factor, at, size));
  const pointer = usePointer({
    onPan: (dx, dy) => setView(pan(view, dx, dy)),
    onPress: (at) => onSelect(stationAt(at, drawing)?.id),
  });
  useWheel(ref, (at, delta) => zoomBy(Math.exp(-delta * WHEEL_ZOOM), at));
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => setView(pan(view, STEP_PX, 0)),
    ArrowRight: () => setView(pan(view, -STEP_PX, 0)),
    ArrowUp: () => setView(pan(view, 0, STEP_PX)),
    ArrowDown: () => setView(pan(view, 0, -STEP_PX)),
    "+": () => zoomBy(ZOOM_STEP),
    "-": () => zoomBy(1 / ZOOM_STEP),
    "0": () => setView(undefined),
  };
  return (
    <div class="map">
      <canvas
        ref={ref}
        class="map-canvas"
        tabIndex={0}
        role="application"
        aria-label="Map of the stations. Arrow keys move it, plus and minus zoom, 0 shows all. The table below lists the same stations."
        onKeyDown={(event) => {
          const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
          if (act !== undefined) event.preventDefault();
          act?.();
        }}
        {...pointer}
      />
      <Controls onZoom={zoomBy} onReset={() => setView(undefined)} />
    </div>
  );
}

interface ControlsProps {
  readonly onZoom: (factor: number) => void;
  readonly onReset: () => void;
}

function Controls({ onZoom, onReset }: ControlsProps) {
  return (
    <div class="map-controls">
      <button type="button" class="button" aria-label="Zoom in" onClick={() => onZoom(ZOOM_STEP)}>
        <Icon name="plus" />
      </button>
      <button type="button" class="button" aria-label="Zoom out" onClick={() => onZoom(1 / ZOOM_STEP)}>
        <Icon name="minus" />
      </button>
      <button type="button" class="button" onClick={onReset}>
        All
      </button>
    </div>
  );
}
