import type { StationMap } from "@bikeshare/contract/console";
import type { CityMapProps } from "./map/city-map.tsx";
import { lazyPart, useLazy } from "./use-lazy.ts";

const cityMap = lazyPart(async () => (await import("./map/city-map.tsx")).CityMap);

interface LazyMapProps extends Omit<CityMapProps, "stations" | "tiles"> {
  /** The stations to draw; undefined until they are loaded. */
  readonly map: StationMap | undefined;
}

/** A map whose module is loaded separately, so that it does not delay the page's first data. */
export function LazyMap({ map, ...props }: LazyMapProps) {
  const Loaded = useLazy(cityMap);
  return Loaded === undefined || map === undefined ? (
    <div class="map" role="status" aria-label="The map is loading" aria-busy="true" />
  ) : (
    <Loaded stations={map.data} tiles={map.tiles} {...props} />
  );
}
