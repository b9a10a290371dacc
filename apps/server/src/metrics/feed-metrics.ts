import { Gauge, type Registry } from "prom-client";
import type { FeedAge } from "../feeds/gbfs/feed-watch.ts";

/**
 * Adds the ages of followed feeds to a registry, read at each look.
 * @param read what cannot be read is left out
 */
export function watchFeedAges(registry: Registry, read: () => Promise<readonly FeedAge[]>): void {
  const labelNames = ["system", "source", "feed"] as const;
  let reading: Promise<readonly FeedAge[]> = Promise.resolve([]);
  new Gauge({
    name: "bikeshare_gbfs_feed_age_seconds",
    help: "Time since a followed feed was last got and read whole, changed or not.",
    labelNames,
    registers: [registry],
    async collect() {
      // The second gauge is collected together with this one.
      reading = read().catch(() => []);
      this.reset();
      for (const { systemId: system, source, feed, ageMs } of await reading) {
        if (ageMs !== undefined) this.set({ system, source, feed }, ageMs / 1_000);
      }
    },
  });
  new Gauge({
    name: "bikeshare_gbfs_feed_failing_seconds",
    help: "For how long a followed feed has failed; 0: it does not.",
    labelNames,
    registers: [registry],
    async collect() {
      this.reset();
      for (const { systemId: system, source, feed, failingMs } of await reading) {
        this.set({ system, source, feed }, failingMs / 1_000);
      }
    },
  });
}
