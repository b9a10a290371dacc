import { expect, it } from "vitest";
import { fit, pan, project, scaleBar, toScreen, zoom } from "../../src/pages/stations/viewport.ts";

const size = { width: 800, height: 400 };
const vienna = [
  { lat: 48.18, lon: 16.3 },
  { lat: 48.25, lon: 16.42 },
];

it("a map that fits shows every position, with room around", () => {
  const view = fit(vienna, size);
  for (const position of vienna) {
    const { x, y } = toScreen(project(position), view, size);
    expect(x).toBeGreaterThan(20);
    expect(x).toBeLessThan(780);
    expect(y).toBeGreaterThan(20);
    expect(y).toBeLessThan(380);
  }
});

it("one station alone, and none, have a map too", () => {
  expect(toScreen(project(vienna[0]!), fit([vienna[0]!], size), size)).toEqual({ x: 400, y: 200 });
  expect(fit([], size)).toEqual({ x: 0.5, y: 0.5, scale: 400 });
});

it("what is under the pointer stays there while zooming", () => {
  const view = fit(vienna, size);
  const at = toScreen(project(vienna[1]!), view, size);
  const closer = toScreen(project(vienna[1]!), zoom(view, 3, at, size), size);
  expect(closer.x).toBeCloseTo(at.x, 6);
  expect(closer.y).toBeCloseTo(at.y, 6);
});

it("a map moves with the pointer", () => {
  const view = fit(vienna, size);
  const before = toScreen(project(vienna[0]!), view, size);
  const after = toScreen(project(vienna[0]!), pan(view, 30, -10), size);
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
