import type { CommandContext } from "../command-context.ts";
import { expireOverdueReservations } from "./reservation-commands.ts";

/** Writes lapsed reservations as expired, once a second. */
export interface ReservationSweeper {
  /** Sweeps every system now (or joins the sweep that is under way); gives how many reservations expired. */
  runOnce(): Promise<number>;
  /** Stops; comes back when the sweep that is under way has ended. */
  close(): Promise<void>;
}

export interface ReservationSweeperOptions extends CommandContext {
  /** The systems there are. */
  readonly systems: () => Promise<readonly string[]>;
  /** @param systemId undefined: the systems could not be listed */
  readonly onError: (error: unknown, systemId?: string) => void;
}

/**
 * Milliseconds between two sweeps. Readers see a reservation expire at once; what waits for the sweep is its bike, the
 * station's counters and the event. Longer and partners hear of it late; shorter asks for nothing most of the time.
 */
const INTERVAL = 1_000;

/** Reservations in one transaction. More hold their stations' rows locked for longer; fewer make more transactions. */
const BATCH = 200;

/** Starts sweeping. Any number of processes may. */
export function createReservationSweeper(options: ReservationSweeperOptions): ReservationSweeper {
  const { systems, onError } = options;
  let running: Promise<number> | undefined;
  let closed = false;

  async function sweep(): Promise<number> {
    let expired = 0;
    for (const systemId of await systems()) expired += await sweepSystem(systemId);
    return expired;
  }

  /** One system's failure does not keep the others from being swept. */
  async function sweepSystem(systemId: string): Promise<number> {
    let expired = 0;
    try {
      for (let last = BATCH; last === BATCH && !closed; expired += last)
        last = await expireOverdueReservations(options, systemId, BATCH);
    } catch (error) {
      onError(error, systemId);
    }
    return expired;
  }

  const runOnce = () => {
    running ??= sweep().finally(() => (running = undefined));
    return running;
  };
  const timer = setInterval(() => {
    runOnce().catch((error: unknown) => onError(error));
  }, INTERVAL);
  return {
    runOnce,
    async close() {
      closed = true;
      clearInterval(timer);
      await running?.catch(() => undefined);
    },
  };
}
