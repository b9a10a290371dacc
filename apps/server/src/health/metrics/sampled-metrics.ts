import { Gauge, type Registry } from "prom-client";
import type { CityFigure } from "../../city/history/summary.ts";
import type { FeedAge } from "../../feeds/gbfs/source-state.ts";
import type { DatabaseHealth } from "../database-health/service.ts";

/* Gauges whose figures are read at each scrape. */

/**
 * Milliseconds for reading one group of metrics. A scrape may take twice as long: the backlog is read first, and then
 * all other groups at the same time. Too high: scrapers, which usually wait 10 s, lose all metrics because of a few.
 */
export const READ_TIMEOUT_MS = 4_000;

/**
 * Returns what was read.
 * @param what the figures, for the error's message
 * @throws Error when reading takes longer than `timeoutMs`
 */
export async function readInTime<Figures>(what: string, read: Promise<Figures>, timeoutMs: number): Promise<Figures> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} was not read within ${timeoutMs} ms.`)), timeoutMs);
  });
  try {
    return await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The active reservations of a partner. */
export interface PartnerHolds {
  readonly systemId: string;
  readonly partnerId: string;
  readonly active: number;
  /** Maximum active reservations of the partner. */
  readonly limit: number;
}

interface SampledGauge<Sample, Label extends string> {
  readonly name: string;
  readonly help: string;
  /** The figure; undefined: there is none. */
  readonly valueOf: (sample: Sample) => number | undefined;
  readonly labelsOf: (sample: Sample) => Readonly<Record<Label, string>>;
}

/** Adds gauges that share one reading at each scrape. What cannot be read, or not within `timeoutMs`, is left out. */
export function watchSamples<Sample, Label extends string>(
  registry: Registry,
  read: () => Promise<readonly Sample[]>,
  labelNames: readonly Label[],
  gauges: readonly SampledGauge<Sample, Label>[],
  timeoutMs = READ_TIMEOUT_MS,
): void {
  let reading: Promise<readonly Sample[]> = Promise.resolve([]);
  for (const [index, { name, help, valueOf, labelsOf }] of gauges.entries()) {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        // The gauges are collected together, in this order, so that all share the reading of the first one.
        if (index === 0) reading = readInTime(name, read(), timeoutMs).catch(() => []);
        this.reset();
        // Removes a gauge without labels: after a reset it would be 0, such as a certificate that expired in 1970.
        if (labelNames.length === 0) this.remove();
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
        help: "Time since a followed feed was last fetched and read whole, changed or not.",
        valueOf: ({ ageMs }) => (ageMs === undefined ? undefined : ageMs / 1_000),
        labelsOf,
      },
      {
        name: "bikeshare_gbfs_feed_failing_seconds",
        help: "How long a followed feed has failed; 0 while it works.",
        valueOf: ({ failingMs }) => failingMs / 1_000,
        labelsOf,
      },
      {
        name: "bikeshare_gbfs_data_age_seconds",
        help: "Age of the data of a followed feed: time since its last_updated or its records changed.",
        valueOf: ({ dataAgeMs }) => (dataAgeMs === undefined ? undefined : dataAgeMs / 1_000),
        labelsOf,
      },
    ],
  );
}

/** Adds the fleet, stations and rides of each system. */
export function watchCity(registry: Registry, read: () => Promise<readonly CityFigure[]>): void {
  // All three gauges share one reading. The first begins it, because gauges are collected in the order of registration.
  let reading: Promise<readonly CityFigure[]> = Promise.resolve([]);
  const only = async (of: CityFigure["of"]) => (await reading).filter((figure) => figure.of === of);
  const valueOf = ({ n }: CityFigure) => n;
  const labelsOf = ({ systemId: system, state }: CityFigure) => ({ system, state });
  const bikes = { name: "bikeshare_bikes", help: "Bikes by state, as of the last five minutes." };
  watchSamples(
    registry,
    () => {
      reading = read();
      return only("bikes");
    },
    ["system", "state"],
    [{ ...bikes, valueOf, labelsOf }],
  );
  const stations = {
    name: "bikeshare_stations",
    help: "Stations that are online, empty or full among these, and offline, as of the last five minutes.",
  };
  watchSamples(registry, () => only("stations"), ["system", "state"], [{ ...stations, valueOf, labelsOf }]);
  const rides = {
    name: "bikeshare_rides_started_last_hour",
    help: "Rides that started in the last four quarters of an hour that are over.",
  };
  watchSamples(
    registry,
    () => only("rides started"),
    ["system"],
    [{ ...rides, valueOf, labelsOf: ({ systemId: system }) => ({ system }) }],
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

/** Adds PostgreSQL's figures of itself and of its replicas. */
export function watchDatabaseHealth(registry: Registry, read: () => Promise<DatabaseHealth>): void {
  // Read by the first group of gauges; the replicas' gauges, which are collected later, share it.
  let reading: Promise<readonly DatabaseHealth[]> = Promise.resolve([]);
  const whole: readonly [name: string, help: string, valueOf: (health: DatabaseHealth) => number][] = [
    ["bikeshare_postgres_size_bytes", "Size of the database.", (health) => health.size_bytes],
    ["bikeshare_postgres_connections", "Connections to PostgreSQL of all programs.", (health) => health.connections],
    [
      "bikeshare_postgres_max_connections",
      "Connections that PostgreSQL accepts, without those kept for superusers.",
      (health) => health.max_connections,
    ],
    [
      "bikeshare_postgres_oldest_transaction_seconds",
      "For how long the oldest transaction of the database has been open.",
      (health) => health.oldest_transaction_seconds,
    ],
  ];
  watchSamples(
    registry,
    () => (reading = read().then((health) => [health])),
    [],
    whole.map(([name, help, valueOf]) => ({ name, help, valueOf, labelsOf: () => ({}) })),
  );
  const labelsOf = ({ replica }: DatabaseHealth["replicas"][number]) => ({ replica });
  watchSamples(
    registry,
    async () => (await reading).flatMap(({ replicas }) => replicas),
    ["replica"],
    [
      {
        name: "bikeshare_postgres_replica_lag_seconds",
        help: "How far a replica that streams is behind, as the primary sees it.",
        valueOf: ({ lag_seconds: seconds }) => seconds,
        labelsOf,
      },
      {
        name: "bikeshare_postgres_replica_lag_bytes",
        help: "Bytes of WAL that a replica that streams has not applied.",
        valueOf: ({ lag_bytes: bytes }) => bytes,
        labelsOf,
      },
    ],
  );
}

/** The certificate and the latest backup of this machine; undefined: not configured, not readable, or no backup yet. */
export interface MachineFigures {
  /** When the certificate that is served expires, in milliseconds since 1970. */
  readonly certificateExpiresAt: number | undefined;
  readonly latestBackupAgeMs: number | undefined;
}

/** Adds the certificate's end and the age of the latest backup. */
export function watchMachine(registry: Registry, read: () => Promise<MachineFigures>): void {
  const inSeconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1_000);
  watchSamples(
    registry,
    async () => [await read()],
    [],
    [
      {
        name: "bikeshare_certificate_expiry_timestamp_seconds",
        help: "When the certificate of this process expires, in seconds since 1970.",
        valueOf: ({ certificateExpiresAt: at }) => inSeconds(at),
        labelsOf: () => ({}),
      },
      {
        name: "bikeshare_latest_backup_age_seconds",
        help: "Age of the latest backup in BACKUP_DIR.",
        valueOf: ({ latestBackupAgeMs: age }) => inSeconds(age),
        labelsOf: () => ({}),
      },
    ],
  );
}
