import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Config, ConfigError } from "../../config.ts";
import { archiveUrl, type MapTiles } from "../../http/dashboard.ts";

/** The name of the file with street pictures in the data directory. */
const ARCHIVE = "map.pmtiles";

/**
 * Opens the source of street pictures for maps: the configured address, or else an archive in the data directory.
 * @returns undefined if there is neither
 * @throws ConfigError when the archive cannot be drawn, or when neither it nor the configuration names the map's makers
 */
export async function openMapTiles({
  mapTiles,
  dataDir,
}: Pick<Config, "mapTiles" | "dataDir">): Promise<MapTiles | undefined> {
  if (mapTiles?.url !== undefined && mapTiles.attribution !== undefined)
    return { url: mapTiles.url, attribution: mapTiles.attribution };
  const file = join(dataDir, ARCHIVE);
  if (!existsSync(file)) return undefined;
  // Imported only here, because most services have no archive and would start more slowly.
  const { MapArchiveError, openMapArchive } = await import("../../http/map-archive.ts");
  const archive = await openMapArchive(file).catch((error: unknown) => {
    const why =
      error instanceof MapArchiveError ? error.message : "cannot be read. Check that this account may read it.";
    throw new ConfigError(`${file} ${why}`, { cause: error });
  });
  const attribution = mapTiles?.attribution ?? archive.attribution;
  if (attribution !== undefined) return { url: archiveUrl(archive), attribution, archive };
  await archive.close();
  throw new ConfigError(`${file} does not say whose map it is. Set MAP_TILES_ATTRIBUTION.`);
}
