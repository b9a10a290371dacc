import { type BoundingBox, type PublicBike, RETIRED_PUBLIC_ID_MINUTES } from "@bikeshare/contract";
import { type FreeBikes, MAX_MAPPED_BIKES } from "@bikeshare/contract/console";
import { listFilters, type PageRequest, serviceError } from "@bikeshare/rules";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../../storage/background/periodic.ts";
import type { Database, Queryable } from "../../storage/db/database.ts";
import { generatedColumns } from "../../storage/db/tables.generated.ts";
import { type ChangePage, type ChangeRange, listChanges } from "../../storage/lists/change-queries.ts";
import { conditionsOf } from "../../storage/lists/conditions.ts";
import { listById } from "../../storage/lists/id-ordered-queries.ts";
import type { Page } from "../../storage/lists/page.ts";
import type { ListReader, ReadContext } from "../../storage/lists/read-context.ts";
import { deletePastPublicIds, findBikeOf, findBikeThatHad, listFreeBikes } from "./queries.ts";

/*
 * Reads a system's bikes: pages, changes, one bike, the bikes outside stations, and the bike behind a public id. Public ids
 * are the ids of bikes in GBFS feeds; they change after each ride, and a retired one is still found for some minutes.
 */

interface PublicIdContext {
  readonly db: Database;
  readonly clock: () => number;
}

/** How long a retired public id is still found. */
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
  // Retired ids are read second, so that an id that is replaced between the two statements is found.
  const had = await findBikeThatHad(db, systemId, publicId, new Date(clock() - KEPT_MS));
  if (had === undefined) throw serviceError("not_found", "publicId", { minutes: RETIRED_PUBLIC_ID_MINUTES });
  return { id: had.id, public_id: publicId, retired_at: had.retired_at.toISOString() };
}

const SWEEP_INTERVAL_MS = 60_000;
/** Public ids deleted in one transaction. */
const BATCH_SIZE = 1000;

/** Deletes retired public ids that `findPublicBike` no longer finds. */
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

/** The filters of a request for bikes, as the contract describes them. An absent one matches every bike. */
export interface BikeFilters {
  readonly vehicle_state?: string | undefined;
  readonly station_id?: string | undefined;
  readonly bbox?: BoundingBox | undefined;
  readonly updated_since?: string | undefined;
}

const bikes = listById("bikes", listFilters.bikes);

/** Returns a page of a system's bikes, ordered by id. */
export function listBikes(
  context: ReadContext,
  whose: ListReader,
  filters: BikeFilters,
  request: PageRequest<string>,
): Promise<Page<string>> {
  return bikes.list(context, whose, filters, request);
}

/** SQL for the known columns of a deleted bike. Every other column is null. */
const KNOWN_OF_REMOVED: Readonly<Record<string, string>> = {
  id: "id",
  vehicle_state: "'removed'",
  updated_at: "to_timestamp(change_position / 1e6)",
};

/** The records of bikes that were deleted because their feed no longer lists them. */
const removed = {
  table: "removed_bikes",
  // Calls the SQL function that makes a bike's JSON with the values of KNOWN_OF_REMOVED instead of the columns. A column is
  // a word before a comma or a closing parenthesis: the function's name comes before an opening one.
  json: generatedColumns.bikes.json.replaceAll(/\w+(?=[,)])/g, (column) => KNOWN_OF_REMOVED[column] ?? "null"),
  condition: "system_id = $1",
  isUnfiltered: true,
};

/** Returns a page of the changes of a system's bikes, in the order of the changes. */
export function listBikeChanges(
  context: ReadContext,
  whose: ListReader,
  filters: BikeFilters,
  range: ChangeRange,
): Promise<ChangePage> {
  const conditions = conditionsOf(listFilters.bikes, filters);
  const { vehicle_state: state, station_id: station, bbox } = filters;
  // A deleted bike has the state `removed`, and neither a station nor a position.
  const showsRemoved = (state === undefined || state === "removed") && station === undefined && bbox === undefined;
  const present = { table: "bikes", json: "json", condition: "system_id = $1" };
  const rows = showsRemoved ? [present, removed] : [present];
  return listChanges(context, whose, { name: "bikes", rows, values: [whose.systemId], filters: conditions }, range);
}

/** Returns a bike's JSON; undefined when there is no such bike. */
export function getBike({ readPool }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return bikes.find(readPool, systemId, id);
}

/** Returns the available bikes that stand at no station, as a map shows them: at most `MAX_MAPPED_BIKES`. */
export async function freeBikes(db: Queryable, systemId: string): Promise<FreeBikes> {
  const found = await listFreeBikes(db, systemId, MAX_MAPPED_BIKES + 1);
  return { data: found.slice(0, MAX_MAPPED_BIKES), is_complete: found.length <= MAX_MAPPED_BIKES };
}
