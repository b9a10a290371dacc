import { afterEach, expect, it, vi } from "vitest";
import { createTiles } from "../../src/components/map/tiles.ts";
import {
  fit,
  hull,
  pan,
  project,
  scaleBar,
  tilesOf,
  toScreen,
  withoutOutliers,
  zoom,
} from "../../src/components/map/viewport.ts";

const size = { width: 800, height: 400 };
const vienna = [
  { lat: 48.18, lon: 16.3 },
  { lat: 48.25, lon: 16.42 },
].map(project);

it("a map that fits shows every position, with room around", () => {
  const view = fit(vienna, size);
  for (const point of vienna) {
    const { x, y } = toScreen(point, view, size);
    expect(x).toBeGreaterThan(20);
    expect(x).toBeLessThan(780);
    expect(y).toBeGreaterThan(20);
    expect(y).toBeLessThan(380);
  }
});

it("one station alone, and none, have a map too", () => {
  expect(toScreen(vienna[0]!, fit([vienna[0]!], size), size)).toEqual({ x: 400, y: 200 });
  expect(fit([], size)).toEqual({ x: 0.5, y: 0.5, scale: 400 });
});

it("a city is shown without the stations that lie far from all others", () => {
  const city = Array.from({ length: 60 }, (_, index) =>
    project({ lat: 48.2 + 0.001 * (index % 10), lon: 16.3 + 0.002 * Math.floor(index / 10) }),
  );
  const wrong = project({ lat: 0, lon: 0 });
  expect(withoutOutliers([...city, wrong])).toEqual(city);
  // A suburb is a part of the city.
  const suburb = project({ lat: 48.215, lon: 16.32 });
  expect(withoutOutliers([...city, suburb])).toHaveLength(61);
  // With few points, none is an outlier.
  expect(withoutOutliers([...vienna, wrong])).toHaveLength(3);
});

it("the service area has the outermost stations as its corners", () => {
  const corners = [
    { x: 0, y: 0 },
    { x: 2, y: 0 },
    { x: 2, y: 2 },
    { x: 0, y: 2 },
  ];
  expect(hull([...corners, { x: 1, y: 1 }, { x: 1, y: 0 }])).toEqual(corners);
  expect(hull(corners.slice(0, 2))).toEqual([]);
});

it("tiles cover the map, each once, at about their own size", () => {
  const view = fit(vienna, size);
  const tiles = tilesOf(view, size);
  expect(new Set(tiles.map(({ z, x, y }) => `${z}/${x}/${y}`)).size).toBe(tiles.length);
  const [first] = tiles;
  expect(first?.side).toBeGreaterThan(256 / 1.5);
  expect(first?.side).toBeLessThan(256 * 1.5);
  expect(Math.min(...tiles.map(({ left }) => left))).toBeLessThanOrEqual(0);
  expect(Math.max(...tiles.map(({ left, side }) => left + side))).toBeGreaterThanOrEqual(size.width);
  expect(Math.max(...tiles.map(({ top, side }) => top + side))).toBeGreaterThanOrEqual(size.height);
});

/** An image whose request the test answers. */
class FakeImage extends EventTarget {
  static readonly requested: FakeImage[] = [];
  complete = false;
  naturalWidth = 0;
  referrerPolicy = "";
  #src = "";
  get src() {
    return this.#src;
  }
  set src(address: string) {
    this.#src = address;
    this.complete = false;
    FakeImage.requested.push(this);
  }
  answer(event: "load" | "error") {
    this.complete = true;
    this.naturalWidth = event === "load" ? 256 : 0;
    this.dispatchEvent(new Event(event));
  }
}

/** Returns a function that draws a map of four tiles, and says how many images were requested and how many were drawn. */
function drawnTiles() {
  vi.useFakeTimers({ toFake: ["performance"] });
  vi.stubGlobal("Image", FakeImage);
  vi.stubGlobal("devicePixelRatio", 1);
  FakeImage.requested.length = 0;
  const drawImage = vi.fn();
  const context = { setTransform() {}, clearRect() {}, drawImage };
  const canvas = { getContext: () => context } as unknown as HTMLCanvasElement;
  const tiles = createTiles("https://tiles.example/{z}/{x}/{y}{r}.png", () => undefined);
  return () => {
    drawImage.mockClear();
    const before = FakeImage.requested.length;
    tiles.draw(canvas, { x: 0.5, y: 0.5, scale: 512 }, { width: 256, height: 256 });
    return { requested: FakeImage.requested.slice(before), drawn: drawImage.mock.calls.length };
  };
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("a tile that failed is requested again when it is drawn 5 seconds later, and then drawn", () => {
  const draw = drawnTiles();
  const { requested } = draw();
  const addresses = requested.map(({ src }) => src);
  expect(addresses.toSorted()).toEqual(["0/0", "0/1", "1/0", "1/1"].map((at) => `https://tiles.example/1/${at}.png`));
  const [failed, ...others] = requested;
  for (const image of others) image.answer("load");
  // While it is under way, it is not requested a second time, however long it takes.
  vi.advanceTimersByTime(3_600_000);
  expect(draw()).toEqual({ requested: [], drawn: 3 });
  failed?.answer("error");
  vi.advanceTimersByTime(4_999);
  expect(draw()).toEqual({ requested: [], drawn: 3 });
  vi.advanceTimersByTime(1);
  const again = draw().requested;
  expect(again.map(({ src }) => src)).toEqual(addresses.slice(0, 1));
  again[0]?.answer("load");
  vi.advanceTimersByTime(3_600_000);
  expect(draw()).toEqual({ requested: [], drawn: 4 });
});

it("a dead tile server is asked for each tile after pauses that double to 5 minutes", () => {
  const draw = drawnTiles();
  const asked: number[] = [];
  // The map is drawn each second for twenty minutes.
  for (let second = 0; second <= 1_200; second++) {
    const { requested } = draw();
    if (requested.length > 0) asked.push(second);
    expect([0, 4]).toContain(requested.length);
    for (const image of requested) image.answer("error");
    vi.advanceTimersByTime(1_000);
  }
  expect(asked).toEqual([0, 5, 15, 35, 75, 155, 315, 615, 915]);
});

it("what is under the pointer stays there while zooming", () => {
  const view = fit(vienna, size);
  const at = toScreen(vienna[1]!, view, size);
  const closer = toScreen(vienna[1]!, zoom(view, 3, at, size), size);
  expect(closer.x).toBeCloseTo(at.x, 6);
  expect(closer.y).toBeCloseTo(at.y, 6);
});

it("a map moves with the pointer", () => {
  const view = fit(vienna, size);
  const before = toScreen(vienna[0]!, view, size);
  const after = toScreen(vienna[0]!, pan(view, 30, -10), size);
  expect([after.x - before.x, after.y - before.y].map(Math.round)).toEqual([30, -10]);
});

it("the scale says how long a distance is here, not at the equator", () => {
  const view = fit(vienna, size);
  const { label, px } = scaleBar(view, 110);
  expect(label).toBe("2 km");
  // Two points 2 km apart, west to east, at this latitude.
  const degrees = 2 / (111.32 * Math.cos((48.215 * Math.PI) / 180));
  const [west, east] = [16.35, 16.35 + degrees].map((lon) => toScreen(project({ lat: 48.215, lon }), view, size).x);
  expect(Math.abs(east! - west! - px)).toBeLessThan(1);
});
