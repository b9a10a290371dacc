import type { MappedStation, StationMap } from "@bikeshare/contract/console";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "../icon.tsx";
import { availabilityLabels, closedReason } from "./availability.ts";
import {
  drawFrame,
  type DrawnFlow,
  drawnStation,
  type DrawnRegion,
  type DrawnStation,
  type DrawnZone,
  type Frame,
  type Scene,
  stationAt,
} from "./draw.ts";
import { useColours, usePointers, useSize, useWheel } from "./input.ts";
import { createMarks } from "./marks.ts";
import { createTiles, type Tiles } from "./tiles.ts";
import {
  fit,
  hull,
  pan,
  type Point,
  type Position,
  project,
  type Size,
  toScreen,
  type Viewport,
  withoutOutliers,
  zoom,
} from "./viewport.ts";
import "../tip.css";
import "./map.css";

/** An area with a rule, by its corners. */
export interface MappedZone extends Omit<DrawnZone, "rings"> {
  readonly rings: readonly (readonly Position[])[];
}

export interface CityMapProps {
  /** What the map is of: "Map of the stations". */
  readonly label: string;
  readonly stations: readonly MappedStation[];
  readonly regions?: StationMap["regions"];
  readonly tiles?: StationMap["tiles"];
  readonly zones?: readonly MappedZone[];
  /** Numbers of rides between two stations, which are named by their ids. Drawn as arcs. */
  readonly flows?: readonly { readonly from: string; readonly to: string; readonly rides: number }[];
  /** Bikes outside of stations. */
  readonly bikes?: readonly Position[];
  /**
   * By station id, the share of the day for which the station was empty, 0 to 1. If given, it is drawn instead of the
   * stations' present state.
   */
  readonly shade?: ReadonlyMap<string, number> | undefined;
  /** The ids of the stations that match the filters. Undefined: all. */
  readonly matching?: ReadonlySet<string> | undefined;
  readonly selectedId?: string | undefined;
  readonly onSelect?: (id: string | undefined) => void;
  /** Whether the map fills the page. The wheel then always zooms; otherwise only with the focus or the control key. */
  readonly isWholePage?: boolean;
}

/** Pixels by which one press of an arrow key moves the map. */
const STEP_PX = 80;
/** The zoom factor of one press of a zoom button or of the keys + and -. */
const ZOOM_STEP = 1.6;
/** The natural logarithm of the zoom factor, for each pixel that the wheel scrolls. */
const WHEEL_ZOOM = 0.0015;
/** Duration of an animated movement of the map. */
const MOTION_MS = 140;
/** The smallest scale after the map has moved to a station, in pixels for each unit of the projection. */
const STATION_SCALE = 3_500_000;

/**
 * A map of a city's stations, zones, bikes and rides. Lists beside it show the same to readers who cannot see it.
 *
 * `useScene` computes what is drawn, in world coordinates (`project` in viewport.ts). `useView` manages which part of the
 * world is shown, and `useMapInput` moves that view. After each change of the scene or the view, `useDrawnMap` paints both on
 * the canvas (`drawFrame` in draw.ts).
 */
export function CityMap(props: CityMapProps) {
  const { label, tiles, onSelect, isWholePage = false } = props;
  const { canvas, streets, size, map, hovered, handlers } = useDrawnMap(props);
  const tip = hovered && size && { drawn: hovered, at: toScreen(hovered.point, map.view(), size), width: size.width };
  return (
    <div class={isWholePage ? "map map-whole" : "map"}>
      {tiles && <canvas ref={streets} class="map-streets" aria-hidden="true" />}
      <canvas
        ref={canvas}
        class={hovered === undefined ? "map-canvas" : "map-canvas map-over-station"}
        tabIndex={0}
        role="application"
        aria-label={`${label}. Arrow keys move it, plus and minus zoom, 0 shows the city${onSelect ? ", Enter opens the station in the middle" : ""}.`}
        {...handlers}
      />
      {tip && <Tip {...tip} />}
      <Controls onZoom={map.step} onReset={map.reset} />
      {tiles && <p class="map-attribution">{tiles.attribution}</p>}
    </div>
  );
}

/** Redraws the map's canvases whenever something changes, and handles their input. */
function useDrawnMap(props: CityMapProps) {
  const { stations, tiles, zones, selectedId } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const streets = useRef<HTMLCanvasElement>(null);
  const size = useSize(canvas);
  const colours = useColours(canvas);
  const [hovered, setHovered] = useState<DrawnStation>();
  const scene = useScene(props, hovered?.station.id);
  const marks = useMemo(() => colours && createMarks(colours, devicePixelRatio), [colours]);
  const shownAtFirst = useMemo(() => withoutOutliers(pointsOf(props)), [stations, zones]);
  // The street tiles. Held in a ref, because `paint` uses them and creating them needs `map`, which needs `paint`.
  const streetTiles = useRef<Tiles>(undefined);
  const frameOf = (view: Viewport): Frame | undefined =>
    size && colours && marks && { scene, view, size, colours, marks };
  const paint = (view: Viewport) => {
    const frame = frameOf(view);
    if (frame === undefined || canvas.current === null) return;
    drawFrame(canvas.current, frame);
    if (streets.current !== null) streetTiles.current?.draw(streets.current, view, frame.size);
  };
  const map = useView({ shownAtFirst, size, paint });
  streetTiles.current = useMemo(() => (tiles ? createTiles(tiles.url, () => map.repaint()) : undefined), [tiles?.url]);
  // After every render: the scene, the colours or the size may have changed.
  useEffect(() => map.repaint());
  useEffect(() => {
    const found = scene.stations.find(({ station }) => station.id === selectedId);
    if (found !== undefined) map.show(found.point);
    // Not on every change of the stations: the map would return to the selected station after each refresh.
  }, [selectedId, scene.stations.length > 0]);
  const handlers = useMapInput({ ...props, canvas, map, frame: () => frameOf(map.view()), setHovered });
  return { canvas, streets, size, map, hovered, handlers };
}

interface MapInput extends Pick<CityMapProps, "onSelect" | "isWholePage"> {
  readonly canvas: { readonly current: HTMLCanvasElement | null };
  readonly map: ReturnType<typeof useView>;
  /** Undefined until the map is laid out. */
  readonly frame: () => Frame | undefined;
  readonly setHovered: (drawn: DrawnStation | undefined) => void;
}

/** Handlers of a map's canvas: pointers, wheel and keys. */
function useMapInput({ canvas, map, frame, setHovered, onSelect, isWholePage = false }: MapInput) {
  const stationUnder = (at: Point) => {
    const shown = frame();
    return shown && stationAt(at, shown);
  };
  const pointers = usePointers({
    onPan: map.pan,
    onPinch: map.zoomBy,
    onPress: (at) => onSelect?.(stationUnder(at)?.station.id),
    onHover: (at) => setHovered(at && stationUnder(at)),
  });
  useWheel(
    canvas,
    (event) => isWholePage || event.ctrlKey || document.activeElement === canvas.current,
    (at, delta) => map.zoomBy(Math.exp(-delta * WHEEL_ZOOM), at),
  );
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => map.glide(STEP_PX, 0),
    ArrowRight: () => map.glide(-STEP_PX, 0),
    ArrowUp: () => map.glide(0, STEP_PX),
    ArrowDown: () => map.glide(0, -STEP_PX),
    "+": () => map.step(ZOOM_STEP),
    "-": () => map.step(1 / ZOOM_STEP),
    "0": map.reset,
    Enter: () => onSelect?.(inTheMiddle(frame())?.station.id),
    Escape: () => onSelect?.(undefined),
  };
  return {
    ...pointers,
    onKeyDown: (event: KeyboardEvent) => {
      const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
      if (act !== undefined) event.preventDefault();
      act?.();
    },
  };
}

/** Returns the points of the stations and of the corners of the zones. */
function pointsOf({ stations, zones = [] }: CityMapProps): readonly Point[] {
  return [...zones.flatMap(({ rings }) => rings.flat()), ...stations].map(project);
}

/** Returns what the map shows, in world coordinates. Each part is computed again only when its data changes. */
function useScene(props: CityMapProps, hoveredId: string | undefined): Scene {
  const { stations, regions, zones, flows, bikes, shade, matching, selectedId, tiles } = props;
  const drawn = useMemo(
    () =>
      stations
        .map((station) => drawnStation(station, project(station)))
        // Largest first, as `Scene` needs them. By id among equals, so that the same stations are on top after each
        // refresh.
        .toSorted((one, other) => other.capacity - one.capacity || (one.station.id < other.station.id ? -1 : 1)),
    [stations],
  );
  const area = useMemo(() => hull(withoutOutliers(drawn.map(({ point }) => point))), [drawn]);
  const shownRegions = useMemo(() => regionsOf(drawn, regions ?? []), [drawn, regions]);
  const shownFlows = useMemo(() => flowsOf(drawn, flows ?? []), [drawn, flows]);
  const shownZones = useMemo(
    () => (zones ?? []).map((zone) => ({ ...zone, rings: zone.rings.map((ring) => ring.map(project)) })),
    [zones],
  );
  const shownBikes = useMemo(() => (bikes ?? []).map(project), [bikes]);
  return {
    stations: drawn,
    area,
    regions: shownRegions,
    zones: shownZones,
    flows: shownFlows,
    bikes: shownBikes,
    shade,
    matching,
    selectedId,
    hoveredId,
    hasStreets: tiles !== null && tiles !== undefined,
  };
}

/** Returns the regions that have at least three stations, with an outline around their stations. */
function regionsOf(stations: readonly DrawnStation[], regions: StationMap["regions"]): readonly DrawnRegion[] {
  return regions.flatMap(({ id, name }) => {
    const points = stations.filter(({ station }) => station.region_id === id).map(({ point }) => point);
    const outline = hull(withoutOutliers(points));
    if (outline.length === 0) return [];
    const mean = (of: (point: Point) => number) => points.reduce((sum, point) => sum + of(point), 0) / points.length;
    return [{ name, outline, middle: { x: mean(({ x }) => x), y: mean(({ y }) => y) } }];
  });
}

/** Returns the flows between stations that are on the map. */
function flowsOf(stations: readonly DrawnStation[], flows: NonNullable<CityMapProps["flows"]>): readonly DrawnFlow[] {
  const points = new Map(stations.map(({ station, point }) => [station.id, point]));
  return flows.flatMap(({ from, to, rides }) => {
    const [start, end] = [points.get(from), points.get(to)];
    return start === undefined || end === undefined ? [] : [{ from: start, to: end, rides }];
  });
}

/** Returns the station nearest to the middle of the map. */
function inTheMiddle(frame: Frame | undefined): DrawnStation | undefined {
  if (frame === undefined) return undefined;
  const distance = ({ point }: DrawnStation) => Math.hypot(point.x - frame.view.x, point.y - frame.view.y);
  return frame.scene.stations.toSorted((one, other) => distance(one) - distance(other))[0];
}

interface ViewOptions {
  /** The points that the map shows until the reader moves it. */
  readonly shownAtFirst: readonly Point[];
  readonly size: Size | undefined;
  readonly paint: (view: Viewport) => void;
}

/** The size assumed until the map is laid out. Nothing is painted until then. */
const USUAL_SIZE: Size = { width: 640, height: 400 };

/** Manages the visible part of the world. It changes in every frame of a gesture, so it is not kept in component state. */
function useView({ shownAtFirst, size = USUAL_SIZE, paint }: ViewOptions) {
  /** The view to which the reader has moved. Undefined: the map shows `home`, also after its size or stations change. */
  const moved = useRef<Viewport>(undefined);
  /** The id of the animation frame that is requested to repaint the map. */
  const repaintRequest = useRef(0);
  /** The id of the animation frame in which an animated movement goes on. Repainting does not end the movement. */
  const motionRequest = useRef(0);
  /** Paints the present view with the properties of the latest render, also in a frame that was requested before it. */
  const latest = useRef<() => void>(() => undefined);
  const home = useMemo(() => fit(shownAtFirst, size), [shownAtFirst, size.width, size.height]);
  const view = () => moved.current ?? home;
  latest.current = () => paint(view());
  const repaint = () => {
    cancelAnimationFrame(repaintRequest.current);
    repaintRequest.current = requestAnimationFrame(() => latest.current());
  };
  const stop = () => {
    for (const request of [repaintRequest, motionRequest]) cancelAnimationFrame(request.current);
  };
  // When the map is removed from the page.
  useEffect(() => stop, []);
  const set = (next: Viewport | undefined) => {
    cancelAnimationFrame(motionRequest.current);
    moved.current = next;
    repaint();
  };
  /** Moves to a view in a short animation, or at once if the reader prefers reduced motion. */
  const glideTo = (target: Viewport) => {
    // After a return to `home`, the map follows its size and stations again.
    const end = target === home ? undefined : target;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return set(end);
    const start = view();
    const begun = performance.now();
    const advance = (now: number) => {
      const share = (now - begun) / MOTION_MS;
      if (share >= 1) return set(end);
      // Slows down towards the end.
      moved.current = between(start, target, 1 - (1 - Math.max(0, share)) ** 3);
      latest.current();
      motionRequest.current = requestAnimationFrame(advance);
    };
    cancelAnimationFrame(motionRequest.current);
    motionRequest.current = requestAnimationFrame(advance);
  };
  return {
    view,
    repaint,
    pan: (dx: number, dy: number) => set(pan(view(), dx, dy)),
    zoomBy: (factor: number, at: Point) => set(zoom(view(), factor, at, size)),
    glide: (dx: number, dy: number) => glideTo(pan(view(), dx, dy)),
    step: (factor: number) => glideTo(zoom(view(), factor, { x: size.width / 2, y: size.height / 2 }, size)),
    reset: () => glideTo(home),
    /** If a point is out of sight, moves to it and zooms in far enough to tell it from its neighbours. */
    show: ({ x, y }: Point) => {
      const now = view();
      if (!isInside(toScreen({ x, y }, now, size), size)) glideTo({ x, y, scale: Math.max(now.scale, STATION_SCALE) });
    },
  };
}

/** Pixels along the edges of the map in which a point counts as out of sight. */
const EDGE_PX = 40;

function isInside({ x, y }: Point, { width, height }: Size): boolean {
  return x > EDGE_PX && y > EDGE_PX && x < width - EDGE_PX && y < height - EDGE_PX;
}

/**
 * Returns a view between two views. Positions are interpolated so that points move in straight lines on the screen while the
 * scale changes.
 */
function between(start: Viewport, target: Viewport, share: number): Viewport {
  const scale = start.scale * (target.scale / start.scale) ** share;
  // The part of the way that the middle has moved. It follows 1/scale, the size of a pixel in the world.
  const done =
    start.scale === target.scale ? share : (1 / start.scale - 1 / scale) / (1 / start.scale - 1 / target.scale);
  return { x: start.x + (target.x - start.x) * done, y: start.y + (target.y - start.y) * done, scale };
}

interface TipProps {
  readonly drawn: DrawnStation;
  readonly at: Point;
  readonly width: number;
}

const TIP_WIDTH_PX = 240;

/** The tooltip of the station under the pointer. Hidden from screen readers, which read the lists. */
function Tip({ drawn: { station, kind }, at, width }: TipProps) {
  const left = Math.max(8, Math.min(width - TIP_WIDTH_PX - 8, at.x - TIP_WIDTH_PX / 2));
  return (
    <div class="tip map-tip" aria-hidden="true" style={{ left: `${left}px`, top: `${at.y}px` }}>
      <strong>{station.name}</strong>
      <span>
        {station.bikes} {station.bikes === 1 ? "bike" : "bikes"}
        {station.docks !== null && `, ${station.docks} free ${station.docks === 1 ? "dock" : "docks"}`}
      </span>
      <span class={`map-tip-${kind}`}>{closedReason(station) ?? availabilityLabels[kind]}</span>
    </div>
  );
}

interface ControlsProps {
  readonly onZoom: (factor: number) => void;
  readonly onReset: () => void;
}

function Controls({ onZoom, onReset }: ControlsProps) {
  return (
    <div class="map-controls" role="group" aria-label="Zoom">
      <button
        type="button"
        class="map-control"
        aria-label="Zoom in"
        title="Zoom in (+)"
        onClick={() => onZoom(ZOOM_STEP)}
      >
        <Icon name="plus" />
      </button>
      <button
        type="button"
        class="map-control"
        aria-label="Zoom out"
        title="Zoom out (−)"
        onClick={() => onZoom(1 / ZOOM_STEP)}
      >
        <Icon name="minus" />
      </button>
      <button type="button" class="map-control" aria-label="Show the city" title="Show the city (0)" onClick={onReset}>
        <Icon name="fit" />
      </button>
    </div>
  );
}
