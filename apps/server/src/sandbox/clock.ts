import type { SandboxClock } from "@bikeshare/contract/sandbox";
import { expireReservations, overdueReservations } from "../city/fleet/reservation-commands.ts";
import type { CommandContext } from "../command-context.ts";
import { notifyKeysChanged } from "../partners/keys/service.ts";
import { oldestDueAt } from "../webhooks/backlog.ts";
import { compareAllStations, hasUncompared } from "../webhooks/thresholds.ts";
import { CityActs, ignoringRefusal } from "./acts.ts";
import { updateTimePassed } from "./clock-queries.ts";
import { endFaultsSooner } from "./faults.ts";
import { findSandbox, listRidesUnderWay, lockSandboxCity } from "./queries.ts";
import { endOfRide } from "./ride-times.rules.ts";
import { inTurn } from "./turns.ts";

/** Reservations that one transaction expires. */
const BATCH = 200;

/**
 * Lets time pass in a sandbox: makes all that waits for a time due `seconds` sooner, but not before now. The service's
 * clock does not change, because receivers check signatures and times against their own clocks.
 */
export function advanceClock(context: CommandContext, systemId: string, seconds: number): Promise<void> {
  return inTurn(context.db, systemId, () => letTimePass(context, systemId, seconds));
}

/** Lets time pass for a caller whose turn it is (`inTurn` of turns.ts). */
export async function letTimePass(context: CommandContext, systemId: string, seconds: number): Promise<void> {
  // First records which stations are below a threshold now, so that time passes for these crossings, too.
  await compareAllStations(context, systemId);
  const now = context.clock();
  await context.db.transaction(async (tx) => {
    await lockSandboxCity(tx, systemId);
    await updateTimePassed(tx, systemId, new Date(now), seconds);
    await endFaultsSooner(tx, systemId, now, seconds);
    // Cached keys contain faults and the times at which keys expire, which have both moved.
    await notifyKeysChanged(tx, systemId);
    // Wakes the workers, because events and deliveries may have become due.
    for (const channel of ["event_outbox", "webhook_endpoints"]) tx.notify(channel, systemId);
  });
  // The partner matters only for reservations that are made or cancelled, so none is named.
  const acts = new CityActs(context, { systemId, partnerId: "" });
  for (const ride of await listRidesUnderWay(context.db, systemId))
    if (endOfRide(ride) <= now + seconds * 1000) await ignoringRefusal(acts.endRide(ride.id));
  await compareAllStations(context, systemId);
  for (;;) {
    // `[]`: leaves out no reservation.
    const overdue = await overdueReservations(context, systemId, BATCH, []);
    const expired = await expireReservations(context, systemId, overdue);
    if (expired < BATCH) return;
  }
}

/** Returns a sandbox's clock, and whether everything that became due has been done. */
export async function clockOf(context: CommandContext, systemId: string): Promise<SandboxClock> {
  const now = context.clock();
  const [sandbox, overdue, dueAt, isComparing] = await Promise.all([
    findSandbox(context.db, systemId),
    overdueReservations(context, systemId, 1, []),
    oldestDueAt(context.db, systemId, new Date(now)),
    hasUncompared(context, systemId),
  ]);
  return {
    now: new Date(now).toISOString(),
    advanced_seconds: sandbox?.advanced_seconds ?? 0,
    ready: overdue.length === 0 && dueAt === null && !isComparing,
  };
}
