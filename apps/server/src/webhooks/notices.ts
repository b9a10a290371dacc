import { STATION_NOTICE_SECONDS } from "@bikeshare/contract";
import type { CommandContext } from "../command-context.ts";
import { recordNotices } from "../events/outbox.ts";
import { claimChangedStations, findStationSubscription } from "./notice-queries.ts";

/**
 * Tells the endpoints that want it of each station that is not as it was last told, once a minute at most. Any number
 * of processes may: each change is told by one of them, in the transaction that notes it. When nobody has wanted it
 * before, every station is told of, so that nothing is missed between a partner's choice and the first sweep.
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
    await recordNotices(tx, { ids, systemId, now }, notices);
    return stations.length;
  });
}

/** Tells of changed stations, every few seconds. */
export interface StationNotices {
  /** Sweeps every system now (or joins the sweep that is under way); gives how many stations were told of. */
  runOnce(): Promise<number>;
  /** Stops; comes back when the sweep that is under way has ended. */
  close(): Promise<void>;
}

export interface StationNoticesOptions extends CommandContext {
  /** The systems there are. */
  readonly systems: () => Promise<readonly string[]>;
  readonly onError: (error: unknown) => void;
}

/**
 * Milliseconds between two sweeps: what the first change after a quiet minute waits at most. Shorter reads every station
 * that much more often; longer and a partner's map lags.
 */
const SWEEP_INTERVAL_MS = 3_000;
/** Stations in one transaction. More hold their notes locked for longer; fewer make more transactions. */
const BATCH = 500;

/** Starts sweeping. */
export function startStationNotices(options: StationNoticesOptions): StationNotices {
  let running: Promise<number> | undefined;
  let closed = false;

  /** One system's fault does not keep the others from being swept. */
  async function sweepSystem(systemId: string): Promise<number> {
    let told = 0;
    try {
      for (let last = BATCH; last === BATCH && !closed; told += last)
        last = await publishChangedStations(options, systemId, BATCH);
    } catch (error) {
      options.onError(error);
    }
    return told;
  }
  async function sweep(): Promise<number> {
    let told = 0;
    for (const systemId of await options.systems()) told += await sweepSystem(systemId);
    return told;
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
