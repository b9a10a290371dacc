import { Gauge, type Registry } from "prom-client";
import type { FeedAge } from "../feeds/gbfs/feed-watch.ts";

/** How many bikes a partner holds. */
export interface PartnerHolds {
  readonly systemId: string;
  readonly partnerId: string;
  readonly active: number;
  /** How many it may hold at once. */
  readonly limit: number;
}

interface SampledGauge<Sample, Label extends string> {
  readonly name: string;
  readonly help: string;
  /** The figure; undefined: there is none. */
  readonly valueOf: (sample: Sample) => number | undefined;
  readonly labelsOf: (sample: Sample) => Readonly<Record<Label, string>>;
}

/** Adds gauges that share one reading at each scrape. What cannot be read is left out. */
function watchSamples<Sample, Label extends string>(
  registry: Registry,
  read: () => Promise<readonly Sample[]>,
  labelNames: readonly Label[],
  gauges: readonly SampledGauge<Sample, Label>[],
): void {
  let reading: Promise<readonly Sample[]> = Promise.resolve([]);
  for (const [index, { name, help, valueOf, labelsOf }] of gauges.entries()) {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        // The gauges are collected together, in this order: the first one's reading is the others' as well.
        if (index === 0) reading = read().catch(() => []);
        this.reset();
        for (const sample of await reading) {
          const value = valueOf(sample);
          if (value !== undefined) this.set(labelsOf(sample), value);
        }
      },
    });
  }
}

/** Adds the ages of followed feeds. */
export function watchFeedAges(registry: Registry, read: () => Promise<readonly FeedAge[]>): void {
  const labelsOf = ({ systemId: system, source, feed }: FeedAge) => ({ system, source, feed });
  watchSamples(
    registry,
    read,
    ["system", "source", "feed"],
    [
      {
        name: "bikeshare_gbfs_feed_age_seconds",
        help: "Time since a followed feed was last got and read whole, changed or not.",
        valueOf: ({ ageMs }) => (ageMs === undefined ? undefined : ageMs / 1_000),
        labelsOf,
      },
      {
        name: "bikeshare_gbfs_feed_failing_seconds",
        help: "For how long a followed feed has failed; 0: it does not.",
        valueOf: ({ failingMs }) => failingMs / 1_000,
        labelsOf,
      },
    ],
  );
}

/** Adds the partners' active reservations. @param read few partners: each is a series */
export function watchReservations(registry: Registry, read: () => Promise<readonly PartnerHolds[]>): void {
  const labelsOf = ({ systemId: system, partnerId: partner }: PartnerHolds) => ({ system, partner });
  watchSamples(
    registry,
    read,
    ["system", "partner"],
    [
      {
        name: "bikeshare_active_reservations",
        help: "Active reservations of a partner, of the partners with most.",
        valueOf: ({ active }) => active,
        labelsOf,
      },
      {
        name: "bikeshare_reservation_limit",
        help: "Active reservations that a partner may have at once, of the same partners.",
        valueOf: ({ limit }) => limit,
        labelsOf,
      },
    ],
  );
}
