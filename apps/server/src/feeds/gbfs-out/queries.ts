import { feedBikeFields } from "../../city/fleet/snapshot-decision.rules.ts";
import { informationFields, statusFields } from "../../city/fleet/station.rules.ts";
import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { UNSPECIFIED } from "./defaults.ts";

/*
 * The statements for publishing GBFS feeds. Feeds name a bike by its public id, which is random and changes after a ride.
 * Feeds never contain the private id, by which the service knows the bike: with it, rides could be followed.
 */

const stationColumns = columnsOfTable("stations").only(
  "id",
  ...informationFields,
  ...statusFields,
  "status",
  "updated_at",
  "counters",
  "num_bikes_reserved",
);
const bikeColumns = columnsOfTable("bikes")
  .only("id", "public_id", "source", ...feedBikeFields)
  .without("number", "station_id");

/** A published station. */
export interface PublishedStation extends RowOf<typeof stationColumns> {
  readonly vehicle_types_available: readonly { readonly vehicle_type_id: string; readonly count: number }[];
  readonly source_facts: object | null;
  readonly vehicle_docks_available:
    | readonly { readonly vehicle_type_ids: readonly string[]; readonly count: number }[]
    | null;
}

/** A published bike, with its private id. `station_id` is null if the bike's station is not published. */
export interface PublishedBike extends RowOf<typeof bikeColumns>, Pick<Tables["bikes"], "station_id"> {
  readonly public_id: string;
  readonly source_facts: object | null;
}

// The service publishes existing and planned stations, but not those that the operator or the source has removed. It
// publishes bikes that a rider can find: not those on a ride, missing, out of contact or removed (`isBikeShown`), nor those
// that have neither a position nor a published station, which the statements test themselves.
const isStationPublished = (s: string) =>
  `${s}.status <> 'removed' and ${s}.offline_reason is distinct from 'removed_from_source'`;
const isBikeShown = (b: string) => `${b}.vehicle_state in ('available', 'reserved', 'non_operational')`;

const listStations = statement(
  "gbfsOut.listStations",
  `select ${stationColumns.list()} from stations s where system_id = $1 and ${isStationPublished("s")} order by id`,
);

const listStationIds = statement(
  "gbfsOut.listStationIds",
  `select id from stations s where system_id = $1 and ${isStationPublished("s")}`,
);

const hasStations = statement(
  "gbfsOut.hasStations",
  `select exists (select from stations s where system_id = $1 and ${isStationPublished("s")}) as found`,
);

// Sorts by public id. In the order of private ids, a bike would keep its place in the list when its public id changes, and
// could be tracked.
const listBikes = statement(
  "gbfsOut.listBikes",
  `select ${bikeColumns.list("b")}, s.id as station_id
   from bikes b
   left join stations s on s.system_id = b.system_id and s.id = b.station_id and ${isStationPublished("s")}
   where b.system_id = $1 and ${isBikeShown("b")} and b.public_id is not null
     and ((b.lat is not null and b.lon is not null) or s.id is not null)
   order by b.public_id`,
);

// `s` is empty for a bike without a published station, so `count(s.id)` counts the bikes at stations. $2 is the id
// under which bikes without a type are published.
const listUses = statement(
  "gbfsOut.listTypeUses",
  `select coalesce(b.vehicle_type_id, $2) as id, count(s.id)::int as at_stations, (count(*) - count(s.id))::int as elsewhere
   from bikes b
   left join stations s on s.system_id = b.system_id and s.id = b.station_id and ${isStationPublished("s")}
   where b.system_id = $1 and ${isBikeShown("b")} and ((b.lat is not null and b.lon is not null) or s.id is not null)
   group by 1`,
);

const hasUntyped = statement(
  "gbfsOut.hasUntypedCounts",
  `select exists (
     select from stations s
     where system_id = $1 and ${isStationPublished("s")} and num_bikes_available > (
       select coalesce(sum((type ->> 'count')::bigint), 0) from json_array_elements(vehicle_types_available) as type)
   ) as found`,
);

const lockWithoutPublicId = statement(
  "gbfsOut.lockWithoutPublicId",
  `select id from bikes b where system_id = $1 and public_id is null and ${isBikeShown("b")} order by id for update`,
);

const updatePublicId = statement(
  "gbfsOut.updatePublicId",
  `update bikes b set public_id = given.public_id
   from unnest($2::text[], $3::text[]) as given(id, public_id) where b.system_id = $1 and b.id = given.id`,
);

const countStationsAndVehicles = statement(
  "gbfsOut.countPublished",
  `select (select count(*) from stations s where system_id = $1 and ${isStationPublished("s")})::int as stations,
          (select count(*) from bikes b where system_id = $1 and ${isBikeShown("b")})::int as vehicles`,
);

/** Counts published stations, and vehicles that are published if their place is known. */
export async function countPublished(
  db: Queryable,
  systemId: string,
): Promise<{ readonly stations: number; readonly vehicles: number }> {
  return oneRow(await db.query<{ stations: number; vehicles: number }>(countStationsAndVehicles, [systemId]));
}

/** Returns the published stations, in the order of their ids. */
export function listPublishedStations(db: Queryable, systemId: string): Promise<PublishedStation[]> {
  return db.query<PublishedStation>(listStations, [systemId]);
}

/** Returns the ids of the published stations. */
export async function listPublishedStationIds(db: Queryable, systemId: string): Promise<ReadonlySet<string>> {
  return new Set((await db.query<{ id: string }>(listStationIds, [systemId])).map(({ id }) => id));
}

/** Tells whether a system has a published station. */
export async function hasPublishedStations(db: Queryable, systemId: string): Promise<boolean> {
  return oneRow(await db.query<{ found: boolean }>(hasStations, [systemId])).found;
}

/** Tells whether a published station has more vehicles than its types add up to. */
export async function hasUntypedCounts(db: Queryable, systemId: string): Promise<boolean> {
  return oneRow(await db.query<{ found: boolean }>(hasUntyped, [systemId])).found;
}

/** Returns the published bikes, in the order of their public ids. Bikes that have none yet are left out. */
export function listPublishedBikes(db: Queryable, systemId: string): Promise<PublishedBike[]> {
  return db.query<PublishedBike>(listBikes, [systemId]);
}

/** The published vehicles of a type: how many are at stations, and how many are not. */
export interface TypeUse {
  readonly at_stations: number;
  readonly elsewhere: number;
}

/** Returns where the published vehicles of each type are. */
export async function listTypeUses(db: Queryable, systemId: string): Promise<ReadonlyMap<string, TypeUse>> {
  const rows = await db.query<TypeUse & { readonly id: string }>(listUses, [systemId, UNSPECIFIED]);
  return new Map(rows.map(({ id, ...use }) => [id, use]));
}

/** Locks the bikes that are published if their place is known and have no public id. @returns their ids, in order */
export async function lockBikesWithoutPublicId(tx: Transaction, systemId: string): Promise<string[]> {
  return (await tx.query<{ id: string }>(lockWithoutPublicId, [systemId])).map(({ id }) => id);
}

/** Sets the public ids of locked bikes. */
export async function updatePublicIds(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
  publicIds: readonly string[],
): Promise<void> {
  await tx.query(updatePublicId, [systemId, ids, publicIds]);
}

/** The latest published content of a feed. */
export interface Publication {
  /** The digest of the content. */
  readonly digest: Uint8Array;
  /** The time of publication, in whole seconds. */
  readonly last_updated: Date;
  /** True: other content of the feed was published in the same second. */
  readonly shares_second: boolean;
}

const insert = statement(
  "gbfsPublications.insert",
  `insert into gbfs_publications (system_id, version, feed, digest, last_updated, shares_second)
   values ($1, $2, $3, '', 'epoch', false) on conflict (system_id, version, feed) do nothing`,
);

const lock = statement(
  "gbfsPublications.lock",
  `select digest, last_updated, shares_second from gbfs_publications
   where system_id = $1 and version = $2 and feed = $3 for update`,
);

const update = statement(
  "gbfsPublications.update",
  `update gbfs_publications set digest = $4, last_updated = $5, shares_second = $6
   where system_id = $1 and version = $2 and feed = $3`,
);

/** Identifies a feed of a system in a version of GBFS. */
export type FeedKey = readonly [systemId: string, version: string, feed: string];

/** Locks a feed's publication until the transaction ends. A feed that was never published has an empty digest. */
export async function lockPublication(tx: Transaction, key: FeedKey): Promise<Publication> {
  const [held] = await tx.query<Publication>(lock, key);
  if (held !== undefined) return held;
  await tx.query(insert, key);
  return oneRow(await tx.query<Publication>(lock, key));
}

/** Stores a feed's publication, which the caller has locked. */
export async function updatePublication(tx: Transaction, key: FeedKey, publication: Publication): Promise<void> {
  await tx.query(update, [...key, publication.digest, publication.last_updated, publication.shares_second]);
}

const zonesState = statement(
  "gbfsOut.zonesState",
  `select concat_ws(' ',
     (select string_agg(source || ' ' || feed || ' ' || digest, ',' order by source, feed) from gbfs_documents
      where system_id = $1 and feed in ('system_information', 'vehicle_types', 'geofencing_zones')),
     (select string_agg(kind || ' ' || id || ' ' || set_at, ',' order by kind, id) from descriptions
      where system_id = $1 and kind in ('system', 'vehicle_type', 'geofencing_zones'))) as state`,
);

/** Returns a text that differs whenever what sources or the operator say about the zones of a system may differ. */
export async function findZonesState(db: Queryable, systemId: string): Promise<string> {
  return oneRow(await db.query<{ state: string }>(zonesState, [systemId])).state;
}
