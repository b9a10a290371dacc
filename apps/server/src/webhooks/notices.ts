import { STATION_NOTICE_SECONDS } from "@bikeshare/contract";
import type { CommandContext } from "../command-context.ts";
import { recordEvents } from "../events/outbox.ts";
import { claimChangedStations, findStationSubscription } from "./notice-queries.ts";

/**
 * Publishes a notice of each station that differs from its last one, once a minute at most, to the endpoints that subscribe
 * to it. Any number of processes may: each change is published by one of them. When nobody subscribed before, every station
 * is published, so that nothing is missed between a partner's choice and the first sweep.
 * @returns how many stations
 */
export async function publishChangedStations(
  { db, clock, ids }: CommandContext,
  systemId: string,
  limit: number,
): Promise<number> {
  if (!(await findStationSubscription(db, systemId))) return 0;
  const now = new Date(clock());
  const before = new Date(now.getTime() - STATION_NOTICE_SECONDS * 1000);
  return db.transaction(async (tx) => {
    const stations = await claimChangedStations(tx, systemId, now, before, limit);
    const notices = stations.map(({ json, updated_at }) => ({
      name: "station.updated" as const,
      occurredAt: updated_at,
      data: json,
    }));
    await recordEvents(tx, { ids, systemId, now }, notices);
    return stations.length;
  });
}

/** Publishes changed stations every few seconds. */
export interface StationNotices {
  /** Sweeps every system now (or joins the current sweep). @returns how many stations were published */
  runOnce(): Promise<number>;
  /** Stops; resolves when the current sweep has ended. */
  close(): Promise<void>;
}

export interface StationNoticesOptions extends CommandContext {
  /** The systems there are. */
  readonly systems: () => Promise<readonly string[]>;
  readonly onError: (error: unknown) => void;
}

/**
 * Milliseconds between two sweeps: the longest delay of the first change after a quiet minute. Shorter reads every station
 * more often; longer and a partner's map lags.
 */
const SWEEP_INTERVAL_MS = 3_000;
/** Stations in one transaction. More keep their notices locked for longer; fewer make more transactions. */
const BATCH = 500;

/** Starts sweeping. */
export function startStationNotices(options: StationNoticesOptions): StationNotices {
  let running: Promise<number> | undefined;
  let closed = false;

  /** A failure in one system does not keep the others from being swept. */
  async function sweepSystem(systemId: string): Promise<number> {
    let published = 0;
    try {
      for (let last = BATCH; last === BATCH && !closed; published += last)
        last = await publishChangedStations(options, systemId, BATCH);
    } catch (error) {
      options.onError(error);
    }
    return published;
  }
  async function sweep(): Promise<number> {
    let published = 0;
    for (const systemId of await options.systems()) published += await sweepSystem(systemId);
    return published;
  }
  const runOnce = () => {
    running ??= sweep().finally(() => (running = undefined));
    return running;
  };
  const timer = setInterval(() => void runOnce().catch(options.onError), SWEEP_INTERVAL_MS);
  return {
    runOnce,
    async close() {
      closed = true;
      clearInterval(timer);
      await running?.catch(() => undefined);
    },
  };
}
