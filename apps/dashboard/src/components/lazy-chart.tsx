import type { ComponentProps } from "preact";
import type { Chart } from "./chart.tsx";
import { lazyPart, useLazy } from "./use-lazy.ts";

const chart = lazyPart(async () => (await import("./chart.tsx")).Chart);

/** Pixels of a chart with its title, before it is there: nothing moves when it comes. */
const USUAL_HEIGHT_PX = 250;

/** A chart on a page that has more to show than charts: its file is loaded after the page's first data. */
export function LazyChart(props: ComponentProps<typeof Chart>) {
  const Loaded = useLazy(chart);
  return Loaded === undefined ? (
    <div aria-busy="true" style={{ minHeight: `${USUAL_HEIGHT_PX}px` }} />
  ) : (
    <Loaded {...props} />
  );
}
