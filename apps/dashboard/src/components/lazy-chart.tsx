import type { ComponentProps } from "preact";
import type { Chart } from "./chart.tsx";
import { lazyPart, useLazy } from "./use-lazy.ts";

const chart = lazyPart(async () => (await import("./chart.tsx")).Chart);

/** The height reserved for a chart and its title until it is loaded, so that nothing moves then. */
const USUAL_HEIGHT_PX = 250;

/** A chart whose module is loaded separately, so that it does not delay the page's first data. */
export function LazyChart(props: ComponentProps<typeof Chart>) {
  const Loaded = useLazy(chart);
  return Loaded === undefined ? (
    <div aria-busy="true" style={{ minHeight: `${USUAL_HEIGHT_PX}px` }} />
  ) : (
    <Loaded {...props} />
  );
}
