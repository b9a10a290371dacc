import { startPeriodic } from "../../storage/background/periodic.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import type { Database } from "../../storage/db/database.ts";
import { deleteApiProcess, updateApiHeartbeat } from "./queries.ts";

/** The processes that answer requests on one database. */
export interface ApiProcesses {
  /** How many there are, this one included; while the database is away, how many there were. */
  readonly count: () => number;
  /** Leaves them. */
  close(): Promise<void>;
}

export interface ApiProcessesOptions {
  /** This process, by a name that no other one has. */
  readonly process: string;
  readonly onError: (error: unknown) => void;
  /** @param count another one than before */
  readonly onChange: (count: number) => void;
  readonly heartbeatIntervalMs?: number;
  readonly watch?: WorkWatch | undefined;
}

/** Longer, and limits are divided too late among processes that have come. */
const HEARTBEAT_INTERVAL_MS = 2_000;
/** A process that was killed counts for so long: five heartbeats, so that a slow one is not forgotten. */
const ALIVE_MS = 10_000;

/** Joins them. Resolves when the others are known, or cannot be. */
export async function joinApiProcesses(db: Database, options: ApiProcessesOptions): Promise<ApiProcesses> {
  const { process, onError, onChange, watch, heartbeatIntervalMs: intervalMs = HEARTBEAT_INTERVAL_MS } = options;
  let count = 1;
  const work = async () => {
    const others = await updateApiHeartbeat(db, process, ALIVE_MS);
    if (others + 1 === count) return;
    count = others + 1;
    onChange(count);
  };
  const heartbeat = startPeriodic({ intervalMs, work, onError, watch });
  await heartbeat.runOnce().catch(onError);
  return {
    count: () => count,
    close: async () => {
      await heartbeat.close();
      await deleteApiProcess(db, process).catch(onError);
    },
  };
}
