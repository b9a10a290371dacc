import { useSearchParams } from "wouter-preact";
import { lazyPart } from "../../components/use-lazy.ts";
import { withParameter } from "../scope.ts";

/** The module of the panel beside the map. It is loaded after the page with the map, before a station is opened. */
export const stationPanel = lazyPart(async () => (await import("./station-panel.tsx")).StationPanel);

/**
 * Returns the station that is open beside the map, and a function that opens another one. The address contains the station,
 * so the browser's back button closes it.
 */
export function useSelectedStation(): readonly [string | undefined, (id: string | undefined) => void] {
  const [search, setSearch] = useSearchParams();
  const selected = search.get("station") ?? undefined;
  // Opening another station replaces the history entry, so that "back" closes the panel instead of showing the earlier
  // station.
  const select = (id: string | undefined) => {
    if (id === selected) return;
    setSearch((before) => withParameter(before, "station", id), {
      replace: selected !== undefined && id !== undefined,
    });
  };
  return [selected, select];
}
