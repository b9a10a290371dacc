/** Streets from a PMTiles archive (version 3, https://github.com/protomaps/PMTiles): one file with all tiles of a city. */
import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import {
  bytesToHeader,
  Compression,
  type DecompressFunc,
  type Header,
  PMTiles,
  ResolvedValueCache,
  type Source,
  TileType,
} from "pmtiles";

/** Maximum bytes of a tile, a directory or the metadata in the file. Too high: a request takes that much memory. */
const MAX_PART_BYTES = 1024 * 1024;
/** Maximum bytes of an unpacked directory. Programs that make archives keep them far smaller. */
const MAX_UNPACKED_BYTES = 4 * 1024 * 1024;
/** The most directories that are kept in memory, unpacked. A city has some ten. */
const MAX_KEPT_DIRECTORIES = 32;
/** The highest zoom. At higher ones the numbers of tiles would not be exact. */
const MAX_ZOOM = 26;
const HEADER_BYTES = 127;

const PICTURE_TYPES: ReadonlyMap<TileType, string> = new Map([
  [TileType.Png, "image/png"],
  [TileType.Jpeg, "image/jpeg"],
  [TileType.Webp, "image/webp"],
  [TileType.Avif, "image/avif"],
]);

/** An open archive of map tiles. It is closed when the service stops. */
export interface MapArchive {
  readonly mediaType: string;
  /** A short text that changes when the file changes. */
  readonly version: string;
  /** The makers of the map, as the archive names them. */
  readonly attribution: string | undefined;
  /** Returns the picture of a tile; undefined: the archive has none there, or it is too large. */
  readonly tile: (z: number, x: number, y: number) => Promise<Buffer | undefined>;
  readonly close: () => Promise<void>;
}

/**
 * A file that is not an archive with pictures of streets. The message continues a sentence that begins with the file's name,
 * and says what to do: `is damaged. Copy it again.`
 */
export class MapArchiveError extends Error {}

class PartTooLarge extends Error {}

/** Opens an archive. @throws MapArchiveError when the file is not an archive, is damaged, or has vector tiles */
export async function openMapArchive(file: string): Promise<MapArchive> {
  const handle = await open(file, "r");
  try {
    const { size, mtimeMs } = await handle.stat();
    const source = sourceOf(handle);
    const { mediaType, header } = readHeader((await source.getBytes(0, HEADER_BYTES)).data, size);
    const kept = new ResolvedValueCache(MAX_KEPT_DIRECTORIES, true, decompress);
    const archive = new PMTiles(source, kept, decompress);
    // Reads the first directory, so that a damaged file is found at the start instead of at the first request.
    await archive.getHeader();
    return {
      mediaType,
      version: hash("sha1", `${size} ${mtimeMs}`, "base64url").slice(0, 8),
      attribution: await readAttribution(archive, header),
      tile: (z, x, y) => readTile(archive, z, x, y),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    if (error instanceof MapArchiveError) throw error;
    throw new MapArchiveError("is damaged. Copy it again, or make it anew.", { cause: error });
  }
}

function sourceOf(handle: FileHandle): Source {
  return {
    getKey: () => "",
    async getBytes(offset, length) {
      if (length > MAX_PART_BYTES) throw new PartTooLarge(`a part of the archive has ${length} bytes`);
      const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, offset);
      // Only the first read (offset 0) may get fewer bytes: its length is fixed, and a small file may be shorter.
      if (bytesRead < length && offset > 0) throw new Error("the file has become shorter");
      return { data: buffer.buffer.slice(0, bytesRead) };
    },
  };
}

const decompress: DecompressFunc = async (bytes, compression) => {
  const limit = { maxOutputLength: MAX_UNPACKED_BYTES };
  if (compression === Compression.Gzip) return new Uint8Array(gunzipSync(bytes, limit)).buffer;
  if (compression === Compression.Brotli) return new Uint8Array(brotliDecompressSync(bytes, limit)).buffer;
  return bytes;
};

function readHeader(bytes: ArrayBuffer, size: number): { readonly header: Header; readonly mediaType: string } {
  const beginning = Buffer.from(bytes);
  if (beginning.length < HEADER_BYTES || beginning.toString("latin1", 0, 7) !== "PMTiles")
    throw new MapArchiveError("is no PMTiles archive. Give one with pictures (PNG, JPEG, WebP or AVIF) of the city.");
  if (beginning[7] !== 3) throw new MapArchiveError(`has version ${beginning[7]} of PMTiles. Convert it to version 3.`);
  const header = bytesToHeader(bytes);
  const { tileType, internalCompression, tileCompression } = header;
  const mediaType = PICTURE_TYPES.get(tileType);
  if (mediaType === undefined)
    throw new MapArchiveError(
      `holds ${tileType === TileType.Mvt ? "vector tiles" : "tiles of an unknown kind"}, which maps do not draw. Render them to pictures (PNG or WebP), or set MAP_TILES_URL.`,
    );
  const isReadable = [Compression.None, Compression.Gzip, Compression.Brotli].includes(internalCompression);
  // Pictures need no further compression, so `tileCompression` must be none (1) or, as in many archives, unknown (0).
  if (!isReadable || tileCompression > Compression.None)
    throw new MapArchiveError(
      "is compressed in a way that this service cannot read. Make it with gzip, and its pictures as they are.",
    );
  const ends = [
    header.rootDirectoryOffset + header.rootDirectoryLength,
    header.jsonMetadataOffset + header.jsonMetadataLength,
    header.leafDirectoryOffset + (header.leafDirectoryLength ?? 0),
    header.tileDataOffset + (header.tileDataLength ?? 0),
  ];
  if (ends.some((end) => end > size))
    throw new MapArchiveError("ends too early: a part of it is missing. Copy it again.");
  return { header, mediaType };
}

/** Returns the attribution as plain text: archives from elsewhere may hold HTML. */
async function readAttribution(archive: PMTiles, { jsonMetadataLength: length }: Header): Promise<string | undefined> {
  if (length === 0 || length > MAX_PART_BYTES) return undefined;
  const { attribution } = (await archive.getMetadata()) as { readonly attribution?: unknown };
  if (typeof attribution !== "string") return undefined;
  const words = attribution
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&copy;", "©")
    .replaceAll("&amp;", "&")
    .trim();
  return words === "" ? undefined : words.slice(0, 200);
}

async function readTile(archive: PMTiles, z: number, x: number, y: number): Promise<Buffer | undefined> {
  if (z > MAX_ZOOM || x >= 2 ** z || y >= 2 ** z) return undefined;
  try {
    const found = await archive.getZxy(z, x, y);
    return found && Buffer.from(found.data);
  } catch (error) {
    if (error instanceof PartTooLarge) return undefined;
    throw error;
  }
}
