import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

/*
 * Statements for the map's bikes outside stations, and for public ids: the ids of bikes in GBFS feeds, which change after
 * each ride. `retired_public_ids` keeps the replaced ones for some minutes.
 */

/** A bike that stands at no station, with its position. */
export interface FreeBike {
  readonly id: string;
  readonly number: string | null;
  readonly lat: number;
  readonly lon: number;
}

const free = statement(
  "bikes.listFree",
  `select id, number, lat, lon from bikes
   where system_id = $1 and lat is not null and station_id is null and vehicle_state = 'available' order by id limit $2`,
);

/** Lists available bikes that stand at no station. */
export function listFreeBikes(db: Queryable, systemId: string, limit: number): Promise<FreeBike[]> {
  return db.query<FreeBike>(free, [systemId, limit]);
}

const findPresent = statement(
  "publicIds.findPresent",
  "select id from bikes where system_id = $1 and public_id = $2 limit 1",
);

const findRetired = statement(
  "publicIds.findRetired",
  "select bike_id as id, retired_at from retired_public_ids where system_id = $1 and public_id = $2 and retired_at >= $3",
);

const deletePast = statement(
  "publicIds.deletePast",
  `with deleted as (
     delete from retired_public_ids where system_id = $1 and public_id = any(array(
       select public_id from retired_public_ids where system_id = $1 and retired_at < $2
       order by retired_at limit $3))
     returning 1)
   select count(*)::int as n from deleted`,
);

/** Returns the id of the bike that has a public id. */
export async function findBikeOf(db: Queryable, systemId: string, publicId: string): Promise<string | undefined> {
  return (await db.query<{ id: string }>(findPresent, [systemId, publicId]))[0]?.id;
}

/** Returns the id of the bike that had a public id and lost it at `since` or later, and when it lost it. */
export async function findBikeThatHad(
  db: Queryable,
  systemId: string,
  publicId: string,
  since: Date,
): Promise<{ readonly id: string; readonly retired_at: Date } | undefined> {
  return (await db.query<{ id: string; retired_at: Date }>(findRetired, [systemId, publicId, since]))[0];
}

/** Deletes at most `limit` public ids that were retired before an instant, the oldest first. @returns how many */
export async function deletePastPublicIds(
  db: Queryable,
  systemId: string,
  before: Date,
  limit: number,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(deletePast, [systemId, before, limit])).n;
}
