import { type PublicBike, RETIRED_PUBLIC_ID_MINUTES } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../../storage/background/periodic.ts";
import type { Database } from "../../storage/db/database.ts";
import { deletePastPublicIds, findBikeOf, findBikeThatHad } from "./public-id-queries.ts";

interface PublicIdContext {
  readonly db: Database;
  readonly clock: () => number;
}

const KEPT_MS = RETIRED_PUBLIC_ID_MINUTES * 60_000;

/**
 * Returns the bike that has a public id, or had it until some minutes ago.
 * @throws ServiceError `not_found`
 */
export async function findPublicBike(
  { db, clock }: PublicIdContext,
  systemId: string,
  publicId: string,
): Promise<PublicBike> {
  const id = await findBikeOf(db, systemId, publicId);
  if (id !== undefined) return { id, public_id: publicId, retired_at: null };
  // Looked for second: an id that is replaced meanwhile is found here.
  const had = await findBikeThatHad(db, systemId, publicId, new Date(clock() - KEPT_MS));
  if (had === undefined) throw serviceError("not_found", "publicId", { minutes: RETIRED_PUBLIC_ID_MINUTES });
  return { id: had.id, public_id: publicId, retired_at: had.retired_at.toISOString() };
}

const SWEEP_INTERVAL_MS = 60_000;
const BATCH_SIZE = 1000;

/** Deletes public ids that find no bike any more. */
export function startPublicIdSweeper({
  db,
  clock,
  ...options
}: SweeperSurroundings & PublicIdContext): PeriodicWork<number> {
  return startSweeper({
    ...options,
    intervalMs: SWEEP_INTERVAL_MS,
    batchSize: BATCH_SIZE,
    sweep: async (systemId, limit) => {
      const swept = await deletePastPublicIds(db, systemId, new Date(clock() - KEPT_MS), limit);
      return { swept, isMore: swept === limit };
    },
  });
}
