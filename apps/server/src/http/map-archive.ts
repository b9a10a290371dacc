/**
 * Streets from a PMTiles archive (version 3, https://github.com/protomaps/PMTiles): one file with all tiles of a city.
 * Read here, tile by tile, so that pages need no library for it.
 */
import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

/** Maximum bytes of a tile. Too high: a request takes that much memory. */
const MAX_TILE_BYTES = 1024 * 1024;
/** Maximum bytes of a directory, compressed and as it is. Programs that make archives keep them far smaller. */
const MAX_DIRECTORY_BYTES = 512 * 1024;
const MAX_UNPACKED_BYTES = 4 * 1024 * 1024;
const MAX_METADATA_BYTES = 1024 * 1024;
/** Directories that are kept, unpacked. A city has some ten. */
const MAX_KEPT_DIRECTORIES = 32;
/** The root, and leaves below leaves. */
const MAX_DEPTH = 4;
/** Beyond it the numbers of tiles are not exact any more. */
const MAX_ZOOM = 26;
const HEADER_BYTES = 127;

/** Media types of pictures by their number in the header; 1 is a vector tile. */
const PICTURE_TYPES: Readonly<Record<number, string>> = {
  2: "image/png",
  3: "image/jpeg",
  4: "image/webp",
  5: "image/avif",
};

export interface MapArchive {
  readonly mediaType: string;
  /** Changes with the file. */
  readonly version: string;
  /** The makers of the map, as the archive names them. */
  readonly attribution: string | undefined;
  /** Returns the picture of a tile; undefined: the archive has none there. */
  readonly tile: (z: number, x: number, y: number) => Promise<Buffer | undefined>;
  readonly close: () => Promise<void>;
}

/** A file that is no archive with pictures of streets. The message says what to do. */
export class MapArchiveError extends Error {}

interface Header {
  readonly root: Range;
  readonly metadata: Range;
  readonly leaves: Range;
  readonly tiles: Range;
  readonly unpack: (bytes: Buffer, maxBytes: number) => Buffer;
  readonly mediaType: string;
  readonly minZoom: number;
  readonly maxZoom: number;
}

interface Range {
  readonly offset: number;
  readonly length: number;
}

interface Entry extends Range {
  readonly id: number;
  /** So many tiles in a row have this picture; 0: it is a directory. */
  readonly run: number;
}

/** Opens an archive. @throws MapArchiveError when it is none, is damaged, or holds vector tiles */
export async function openMapArchive(file: string): Promise<MapArchive> {
  const handle = await open(file, "r");
  try {
    const { size, mtimeMs } = await handle.stat();
    const header = readHeader(await read(handle, { offset: 0, length: Math.min(HEADER_BYTES, size) }), size);
    const reader = new ArchiveReader(handle, header);
    // A damaged file is found at the start, and not by the first reader.
    await reader.directory(header.root);
    return {
      mediaType: header.mediaType,
      version: hash("sha1", `${size} ${mtimeMs}`, "base64url").slice(0, 8),
      attribution: await readAttribution(handle, header),
      tile: (z, x, y) => reader.tile(z, x, y),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    if (error instanceof MapArchiveError) throw error;
    throw new MapArchiveError("is damaged. Copy it again, or make it anew.", { cause: error });
  }
}

function readHeader(bytes: Buffer, size: number): Header {
  if (bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, 7) !== "PMTiles")
    throw new MapArchiveError("is no PMTiles archive. Give one with pictures (PNG, JPEG, WebP or AVIF) of the city.");
  if (bytes[7] !== 3) throw new MapArchiveError(`has version ${bytes[7]} of PMTiles. Convert it to version 3.`);
  const rangeAt = (position: number): Range => {
    const [offset, length] = [bytes.readBigUInt64LE(position), bytes.readBigUInt64LE(position + 8)];
    if (offset + length > BigInt(size))
      throw new MapArchiveError("ends too early: a part of it is missing. Copy it again.");
    return { offset: Number(offset), length: Number(length) };
  };
  const [internal = 0, compression = 0, type = 0, minZoom = 0, maxZoom = 0] = bytes.subarray(97, 102);
  const mediaType = PICTURE_TYPES[type];
  if (mediaType === undefined)
    throw new MapArchiveError(
      `holds ${type === 1 ? "vector tiles" : "tiles of an unknown kind"}, which maps do not draw. Render them to pictures (PNG or WebP), or set MAP_TILES_URL.`,
    );
  const unpack = UNPACK[internal];
  if (unpack === undefined || compression > 1)
    throw new MapArchiveError(
      "is compressed in a way that is not read. Make it with gzip, and its pictures as they are.",
    );
  return {
    ...{ root: rangeAt(8), metadata: rangeAt(24), leaves: rangeAt(40), tiles: rangeAt(56) },
    ...{ unpack, mediaType, minZoom, maxZoom },
  };
}

const UNPACK: Readonly<Record<number, Header["unpack"]>> = {
  1: (bytes) => bytes,
  2: (bytes, maxOutputLength) => gunzipSync(bytes, { maxOutputLength }),
  3: (bytes, maxOutputLength) => brotliDecompressSync(bytes, { maxOutputLength }),
};

/** HTML in archives of others: its text alone is shown. */
async function readAttribution(handle: FileHandle, { metadata, unpack }: Header): Promise<string | undefined> {
  if (metadata.length === 0 || metadata.length > MAX_METADATA_BYTES) return undefined;
  const text = unpack(await read(handle, metadata), MAX_UNPACKED_BYTES).toString("utf8");
  const { attribution } = JSON.parse(text) as { readonly attribution?: unknown };
  if (typeof attribution !== "string") return undefined;
  const words = attribution
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&copy;", "©")
    .replaceAll("&amp;", "&")
    .trim();
  return words === "" ? undefined : words.slice(0, 200);
}

async function read(handle: FileHandle, { offset, length }: Range): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
  if (bytesRead < length) throw new Error("the file has become shorter");
  return buffer;
}

class ArchiveReader {
  readonly #handle: FileHandle;
  readonly #header: Header;
  /** By their offset; the last used last. */
  readonly #directories = new Map<number, Promise<readonly Entry[]>>();

  constructor(handle: FileHandle, header: Header) {
    this.#handle = handle;
    this.#header = header;
  }

  async tile(z: number, x: number, y: number): Promise<Buffer | undefined> {
    const { root, leaves, tiles, minZoom, maxZoom } = this.#header;
    if (z < minZoom || z > Math.min(maxZoom, MAX_ZOOM) || x >= 2 ** z || y >= 2 ** z) return undefined;
    const id = tileId(z, x, y);
    let range: Range = root;
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      const entry = findEntry(await this.directory(range), id);
      if (entry === undefined) return undefined;
      const home = entry.run === 0 ? leaves : tiles;
      if (entry.offset + entry.length > home.length) return undefined;
      range = { offset: home.offset + entry.offset, length: entry.length };
      if (entry.run === 0) continue;
      return entry.length > MAX_TILE_BYTES ? undefined : read(this.#handle, range);
    }
    return undefined;
  }

  directory(range: Range): Promise<readonly Entry[]> {
    const kept = this.#directories.get(range.offset) ?? this.#readDirectory(range);
    this.#directories.delete(range.offset);
    this.#directories.set(range.offset, kept);
    for (const [oldest] of this.#directories) {
      if (this.#directories.size <= MAX_KEPT_DIRECTORIES) break;
      this.#directories.delete(oldest);
    }
    return kept;
  }

  async #readDirectory(range: Range): Promise<readonly Entry[]> {
    if (range.length > MAX_DIRECTORY_BYTES)
      throw new MapArchiveError("has a directory that is too large. Make it anew.");
    return readEntries(this.#header.unpack(await read(this.#handle, range), MAX_UNPACKED_BYTES));
  }
}

/** Four columns, one after the other: distances of ids, runs, lengths, offsets. */
function readEntries(bytes: Buffer): readonly Entry[] {
  const next = varints(bytes);
  const count = next();
  // Each takes four bytes at least.
  if (count > bytes.length / 4) throw new Error("the directory is shorter than it says");
  const column = () => Array.from({ length: count }, next);
  const [distances, runs, lengths, offsets] = [column(), column(), column(), column()];
  let id = 0;
  let end = 0;
  return distances.map((distance, index) => {
    id += distance;
    const length = lengths[index] ?? 0;
    const given = offsets[index] ?? 0;
    // 0: right behind the one before.
    const offset = given === 0 ? end : given - 1;
    end = offset + length;
    return { id, run: runs[index] ?? 0, offset, length };
  });
}

/** Returns a function that reads one whole number after the other, of seven bits a byte. */
function varints(bytes: Buffer): () => number {
  let position = 0;
  return () => {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 49; factor *= 128) {
      const byte = bytes[position++];
      if (byte === undefined) throw new Error("the directory ends in a number");
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    throw new Error("the directory has a number that is too large");
  };
}

/** The last entry at or before an id holds it, or leads to it. */
function findEntry(entries: readonly Entry[], id: number): Entry | undefined {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.id ?? Infinity) <= id) low = middle + 1;
    else high = middle;
  }
  const entry = entries[low - 1];
  return entry !== undefined && (entry.run === 0 || id < entry.id + entry.run) ? entry : undefined;
}

/** Returns the number of a tile: zoom after zoom, and within one along Hilbert's curve, on which neighbours are near. */
export function tileId(z: number, x: number, y: number): number {
  let id = (4 ** z - 1) / 3;
  let [a, b] = [x, y];
  for (let side = 2 ** z / 2; side >= 1; side /= 2) {
    const isRight = a >= side;
    const isLower = b >= side;
    if (isRight) a -= side;
    if (isLower) b -= side;
    id += side * side * ((isRight ? 3 : 0) ^ Number(isLower));
    if (isLower) continue;
    [a, b] = isRight ? [side - 1 - b, side - 1 - a] : [b, a];
  }
  return id;
}
