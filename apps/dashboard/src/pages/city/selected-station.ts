import { useSearchParams } from "wouter-preact";
import { lazyPart } from "../../components/use-lazy.ts";
import { withParameter } from "../scope.ts";

/** A station beside the map: loaded when the first one is opened, or shortly before. */
export const stationPanel = lazyPart(async () => (await import("./station-panel.tsx")).StationPanel);

/** The station that is open beside the map. It is in the address, and the back button closes it. */
export function useSelectedStation(): readonly [string | undefined, (id: string | undefined) => void] {
  const [search, setSearch] = useSearchParams();
  const selected = search.get("station") ?? undefined;
  // From one station to the next, the way back leads to the page without any.
  const select = (id: string | undefined) => {
    if (id === selected) return;
    setSearch((before) => withParameter(before, "station", id), {
      replace: selected !== undefined && id !== undefined,
    });
  };
  return [selected, select];
}
