import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { drawPicture, linearScale, logScale, median } from "@bikeshare/load";
import { z } from "zod";
import { RIDE_MS } from "../dataset.ts";
import { type BenchContext, measureOn, startOn } from "./benches.ts";
import type { Subject } from "./measure.ts";
import type { MeasuredService } from "./service.ts";

/*
 * Measures how the cost of a page grows with the number of rides. Prints a table, and draws docs/performance/reading.svg
 * when all sizes have been measured. The costs of each size are stored with the data sets, so that sizes can be measured one
 * by one: BENCH_SIZES=10000,100000 pnpm bench read curves.
 */

const SIZES = [10_000, 100_000, 1_000_000, 10_000_000] as const;
const PICTURES = join(import.meta.dirname, "../../../../docs/performance");

/** Microseconds of processor time of the service and PostgreSQL for a page, by number of rides and kind of page. */
const costs = z.record(z.record(z.number()));

/** Measures every kind of page on the wanted sizes, and draws the curves when all sizes have been measured. */
export async function curvesBench(context: BenchContext): Promise<string> {
  const file = join(context.directory, "curves.json");
  const kept = await readFile(file, "utf8").catch(() => "{}");
  const bySize = costs.parse(JSON.parse(kept));
  for (const rides of (process.env["BENCH_SIZES"] ?? SIZES.join(",")).split(",").map(Number)) {
    bySize[rides] = await measureSize(context, rides);
    await writeFile(file, JSON.stringify(bySize));
  }
  const names = Object.keys(bySize[SIZES[0]] ?? {});
  const lines = names.map((name) => ({ name, values: SIZES.map((size) => bySize[size]?.[name] ?? Number.NaN) }));
  if (SIZES.every((size) => bySize[size] !== undefined)) {
    await mkdir(PICTURES, { recursive: true });
    await writeFile(join(PICTURES, "reading.svg"), draw(lines));
  }
  return [
    `${"µs a page, by rides".padEnd(28)}${SIZES.map((size) => size.toLocaleString("en").padStart(12)).join("")}`,
    ...lines.map(
      ({ name, values }) => `${name.padEnd(28)}${values.map((value) => value.toFixed(0).padStart(12)).join("")}`,
    ),
    "",
  ].join("\n");
}

/** Returns the picture with one curve for each kind of page, as SVG. */
function draw(lines: readonly { readonly name: string; readonly values: readonly number[] }[]): string {
  const values = lines.flatMap((line) => line.values);
  const { at } = linearScale(SIZES.length - 1);
  return drawPicture({
    title: "What a page costs, by the number of rides",
    xTitle: "rides",
    yTitle: "processor time of the service and PostgreSQL, µs a page",
    x: { at, ticks: SIZES.map((size, index) => ({ value: index, label: size.toLocaleString("en") })) },
    y: logScale(Math.min(...values), Math.max(...values)),
    lines: lines.map(({ name, values: ofLine }) => ({ name, points: ofLine.map((value, index) => [index, value]) })),
  });
}

/** Returns the microseconds of processor time for each kind of page of a list with so many rides. */
async function measureSize(context: BenchContext, rides: number): Promise<Record<string, number>> {
  const service = await startOn(context, rides);
  try {
    const options = { ...context, repetitions: 1, connections: 8 };
    const figures = await measureOn(options, rides, subjectsOf(service, rides));
    return Object.fromEntries(
      [...figures].map(([name, { serverCpu, postgresCpu }]) => [name, median(serverCpu) + median(postgresCpu)]),
    );
  } finally {
    await service.stop();
  }
}

/**
 * Returns every kind of page. The first pages of rides and stations have one address each. All other kinds have 40, so
 * that no page is read twice in a row.
 */
function subjectsOf(service: MeasuredService, rides: number): Subject[] {
  const several = (path: (index: number) => string) => Array.from({ length: 40 }, (_, index) => path(index));
  const newest = Date.parse("2025-12-31T00:00:00Z");
  // 40 instants in the newest 90 % of the rides. The factor 17 mixes their order, so that neighbours are far apart.
  const ago = (index: number) => new Date(newest - (((index * 17) % 40) / 40) * rides * 0.9 * RIDE_MS).toISOString();
  const pages = rides / 50;
  // One connection, because the service reads only one filtered list of a partner at a time.
  const filtered = (name: string, query: (index: number) => string) =>
    service.subject(
      name,
      several((index) => `/v1/rides?limit=50&${query(index)}`),
      { connections: 1 },
    );
  const after = several((index) => service.after({ started_at: ago(index), id: "M" }));
  const deep = several((index) => `/v1/rides?limit=50&page=${Math.floor(pages / 2) + index}`);
  return [
    service.subject("first page", ["/v1/rides?limit=50"]),
    service.subject("by cursor", after),
    service.subject("by number, deep", deep),
    filtered("by bike", (index) => `bike_id=bike-${index * 611}`),
    filtered("by station", (index) => `station_id=station-0${880 + index}`),
    filtered("by time", (index) => `started_before=${ago(index)}`),
    service.subject("stations", ["/v1/stations?limit=50"]),
  ];
}
