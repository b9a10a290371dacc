import type { BatchResults } from "@bikeshare/contract";
import type { ActorContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { systemsOf } from "../systems/service.ts";
import { abandonRides } from "./finish-rides.ts";
import { countLongRides, listLongRides, type LongRide } from "./ride-queries.ts";

export { listLongRides } from "./ride-queries.ts";

/** Rides ended in one transaction. */
const BATCH_RIDES = 500;

/** The number of rides of a system that have been under way for too long, and the oldest of them. */
export interface LongRides {
  readonly systemId: string;
  readonly n: number;
  readonly oldest: LongRide | undefined;
}

/** Finds the rides of each system that started before an instant and are still under way. */
export async function allLongRides(db: Queryable, startedBefore: Date): Promise<LongRides[]> {
  const systems = await systemsOf(db);
  return Promise.all(systems.map(({ system_id: systemId }) => longRidesOf(db, systemId, startedBefore)));
}

/** The same of one system. */
export async function longRidesOf(db: Queryable, systemId: string, startedBefore: Date): Promise<LongRides> {
  const [oldest] = await listLongRides(db, systemId, startedBefore, 1);
  return { systemId, n: await countLongRides(db, systemId, startedBefore), oldest };
}

/**
 * Ends rides that were never ended, for the operator. A bike moves to its last reported location since its ride began; a
 * bike without a report becomes `missing`.
 * @param reason `timeout` when the ride is ended for its length alone
 * @returns one result a ride, as `rides/end` gives it
 */
export async function endAbandonedRides(
  context: ActorContext,
  systemId: string,
  ids: readonly string[],
  reason: "operator" | "timeout",
): Promise<BatchResults> {
  const all: BatchResults = { results: [], failed: 0 };
  for (let from = 0; from < ids.length; from += BATCH_RIDES) {
    const batch = ids.slice(from, from + BATCH_RIDES);
    const { results, failed } = await context.db.transaction(async (tx) => {
      const ended = await abandonRides({ ...context, db: tx }, systemId, batch, reason);
      for (const { id, outcome } of ended.results)
        if (outcome === "updated" && id !== null)
          await insertActOf(context, tx, { systemId, action: "ride.ended", subject: id, detail: { reason } });
      return ended;
    });
    all.results.push(...results);
    all.failed += failed;
  }
  return all;
}

/** Ends all rides that started before an instant and are still under way. */
export async function endRidesStartedBefore(
  context: ActorContext,
  systemId: string,
  startedBefore: Date,
): Promise<BatchResults> {
  const rides = await listLongRides(context.db, systemId, startedBefore, null);
  return endAbandonedRides(
    context,
    systemId,
    rides.map(({ id }) => id),
    "timeout",
  );
}
