import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import Fastify from "fastify";
import { zxyToTileId as tileId } from "pmtiles";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openMapTiles } from "../runtime/startup/map-tiles.ts";
import { archiveUrl, serveDashboard } from "./dashboard.ts";
import { openMapArchive } from "./map-archive.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-map-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

type Entry = readonly [id: number, run: number, length: number, offset: number];

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}

function directoryOf(entries: readonly Entry[]): Buffer {
  const ids = entries.map(([id], index) => id - (entries[index - 1]?.[0] ?? 0));
  const columns = [ids, ...[1, 2].map((column) => entries.map((entry) => entry[column] ?? 0))];
  // The format stores each offset plus one; zero would mean "right after the previous entry".
  const numbers = [entries.length, ...columns.flat(), ...entries.map(([, , , offset]) => offset + 1)];
  return gzipSync(Buffer.from(numbers.flatMap(varint)));
}

const pictures = ["zero", "zoom 1", "far away"].map((text) => Buffer.from(`\x89PNG ${text}`));

interface Made {
  readonly type?: number;
  readonly version?: number;
  readonly metadata?: object;
}

/** Makes an archive: zoom 0, the two tiles on the left of zoom 1 with one picture, and one of zoom 10 in a leaf. */
async function archive(name: string, { type = 2, version = 3, metadata = {} }: Made = {}): Promise<string> {
  const [zero = Buffer.alloc(0), one = Buffer.alloc(0), far = Buffer.alloc(0)] = pictures;
  const leaf = directoryOf([[tileId(10, 543, 297), 1, far.length, zero.length + one.length]]);
  const root = directoryOf([
    [0, 1, zero.length, 0],
    [1, 2, one.length, zero.length],
    [tileId(10, 0, 0), 0, leaf.length, 0],
  ]);
  const json = gzipSync(JSON.stringify(metadata));
  const parts = [root, json, leaf, Buffer.concat(pictures)];
  const header = Buffer.alloc(127);
  header.write("PMTiles", "latin1");
  header[7] = version;
  let offset = header.length;
  for (const [index, part] of parts.entries()) {
    header.writeBigUInt64LE(BigInt(offset), 8 + 16 * index);
    header.writeBigUInt64LE(BigInt(part.length), 16 + 16 * index);
    offset += part.length;
  }
  header.set([2, 1, type, 0, 10], 97);
  const file = join(directory, name);
  await writeFile(file, Buffer.concat([header, ...parts]));
  return file;
}

it("tiles are numbered along the curve that the format prescribes", () => {
  expect([tileId(0, 0, 0), tileId(1, 0, 0), tileId(1, 0, 1), tileId(1, 1, 1), tileId(1, 1, 0)]).toEqual([
    0, 1, 2, 3, 4,
  ]);
  expect([tileId(2, 0, 0), tileId(12, 3423, 1763), tileId(20, 0, 0)]).toEqual([5, 19078479, 366503875925]);
  // Every tile of a zoom has a different number, and tiles with consecutive numbers are neighbours on the map.
  const side = Array.from({ length: 16 }, (_, index) => index);
  const tiles = side.flatMap((x) => side.map((y) => ({ x, y, id: tileId(4, x, y) }))).toSorted((a, b) => a.id - b.id);
  expect(tiles.map(({ id }) => id)).toEqual(Array.from({ length: 256 }, (_, index) => 85 + index));
  const steps = tiles.slice(1).map(({ x, y }, index) => {
    const before = tiles[index];
    return before === undefined ? 0 : Math.abs(x - before.x) + Math.abs(y - before.y);
  });
  expect(new Set(steps)).toEqual(new Set([1]));
});

it("an archive gives the picture of each tile that it has, from leaves too, and nothing elsewhere", async () => {
  const opened = await openMapArchive(await archive("map.pmtiles"));
  const text = async (z: number, x: number, y: number) => (await opened.tile(z, x, y))?.toString("latin1").slice(6);
  expect(await Promise.all([text(0, 0, 0), text(1, 0, 0), text(1, 0, 1), text(10, 543, 297)])).toEqual([
    "zero",
    "zoom 1",
    "zoom 1",
    "far away",
  ]);
  expect(await Promise.all([text(1, 1, 1), text(10, 0, 0), text(11, 0, 0), text(1, 2, 0), text(400, 0, 0)])).toEqual(
    Array.from({ length: 5 }),
  );
  await opened.close();
});

it("pages show the pictures of an archive in the data directory with whose map it is", async () => {
  const metadata = { attribution: '<a href="https://example.org">&copy; Example makers</a>' };
  await archive("map.pmtiles", { metadata });
  const mapTiles = await openMapTiles({ dataDir: directory, mapTiles: undefined });
  expect(mapTiles?.attribution).toBe("© Example makers");
  if (mapTiles?.archive === undefined) throw new Error("the archive is not used");
  expect(mapTiles.url).toBe(archiveUrl(mapTiles.archive));
  const app = Fastify();
  serveDashboard(app, { directory, ready: () => Promise.resolve(), mapTiles });
  const address = (z: string, x: string, y: string) =>
    mapTiles.url.replace("{z}", z).replace("{x}", x).replace("{y}", y);
  const tile = await app.inject(address("1", "0", "1"));
  expect([tile.statusCode, tile.headers["content-type"], tile.rawPayload]).toEqual([200, "image/png", pictures[1]]);
  expect(tile.headers).toMatchObject({ "x-content-type-options": "nosniff" });
  expect((await app.inject(address("9", "1", "1"))).statusCode).toBe(204);
  for (const bad of ["-1", "1e3", "x", "999999999"])
    expect((await app.inject(address("1", "0", bad))).statusCode).toBe(404);
  expect(String((await app.inject("/dashboard")).headers["content-security-policy"])).toContain("img-src 'self';");
  await app.close();
  await mapTiles.archive.close();
  // The operator's attribution takes precedence over the archive's, and a configured server over the archive.
  const named = await openMapTiles({ dataDir: directory, mapTiles: { url: undefined, attribution: "© Operator" } });
  expect(named?.attribution).toBe("© Operator");
  await named?.archive?.close();
  const url = "https://tiles.example.com/{z}/{x}/{y}.png";
  expect(await openMapTiles({ dataDir: directory, mapTiles: { url, attribution: "©" } })).toEqual({
    url,
    attribution: "©",
  });
});

it("a file that maps cannot draw is refused at the start, with what to do", async () => {
  const refusal = async () => {
    const opened = await openMapTiles({ dataDir: directory, mapTiles: undefined }).catch((error: unknown) => error);
    return opened instanceof Error ? opened.message : opened;
  };
  await archive("map.pmtiles", { type: 1 });
  expect(await refusal()).toContain("holds vector tiles, which maps do not draw. Render them to pictures");
  await archive("map.pmtiles", { version: 2 });
  expect(await refusal()).toContain("has version 2 of PMTiles");
  await archive("map.pmtiles");
  expect(await refusal()).toContain("Set MAP_TILES_ATTRIBUTION");
  const file = await archive("map.pmtiles", { metadata: { attribution: "© Example" } });
  const whole = await readFile(file);
  await writeFile(file, whole.subarray(0, -10));
  expect(await refusal()).toContain("ends too early");
  await writeFile(file, Buffer.concat([whole.subarray(0, 127), Buffer.alloc(whole.length - 127)]));
  expect(await refusal()).toContain("is damaged");
  await writeFile(file, "hello");
  expect(await refusal()).toContain("is no PMTiles archive");
  await rm(file);
  expect(await refusal()).toBeUndefined();
});
