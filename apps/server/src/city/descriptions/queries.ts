import type { FactKind, FactsOf } from "@bikeshare/contract";
import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

/*
 * The statements on descriptions: the facts for GBFS that the operator sets. Also finds the ids that stations, bikes and
 * rides name, and the facts that sources give of one station or bike.
 */

// Makes sure that the system has the row that `lockSystem` locks, even before anybody describes it.
const insertSystem = statement(
  "descriptions.insertSystem",
  `insert into descriptions (system_id, kind, id, content, set_at) values ($1, 'system', '', '{}', $2)
   on conflict (system_id, kind, id) do nothing`,
);

const lockSystem = statement(
  "descriptions.lockSystem",
  "select from descriptions where system_id = $1 and kind = 'system' and id = '' for update",
);

const find = statement(
  "descriptions.find",
  "select content from descriptions where system_id = $1 and kind = $2 and id = $3",
);

const list = statement(
  "descriptions.list",
  "select id, content from descriptions where system_id = $1 and kind = $2 order by id",
);

// The count notices a removal. The sum notices a change that does not move the greatest time, after a clock was set
// back.
const state = statement(
  "descriptions.state",
  "select concat_ws(' ', count(*), max(set_at), sum(extract(epoch from set_at))) as state from descriptions where system_id = $1",
);

const upsert = statement(
  "descriptions.upsert",
  `insert into descriptions (system_id, kind, id, content, set_at) values ($1, $2, $3, $4, $5)
   on conflict (system_id, kind, id) do update set content = excluded.content, set_at = excluded.set_at`,
);

const remove = statement(
  "descriptions.remove",
  "delete from descriptions where system_id = $1 and kind = $2 and id = $3 returning id",
);

/** The operator's facts of one thing, such as a station or a pricing plan. */
export interface OwnDescription<Kind extends FactKind> {
  readonly id: string;
  readonly content: FactsOf<Kind>;
}

/**
 * Locks the operator's descriptions of a system until the transaction ends. Descriptions refer to each other, so only
 * one changes at a time. The lock of all is the row of the system itself.
 */
export async function lockDescriptions(tx: Transaction, systemId: string, now: Date): Promise<void> {
  await tx.query(insertSystem, [systemId, now]);
  await tx.query(lockSystem, [systemId]);
}

/** Returns the operator's facts of a thing; undefined: there are none. */
export async function findDescription<Kind extends FactKind>(
  db: QueryRunner,
  systemId: string,
  kind: Kind,
  id: string,
): Promise<FactsOf<Kind> | undefined> {
  return (await db.query<OwnDescription<Kind>>(find, [systemId, kind, id]))[0]?.content;
}

/** Returns the operator's facts of every thing of a kind, ordered by id. */
export function listOwnDescriptions<Kind extends FactKind>(
  db: QueryRunner,
  systemId: string,
  kind: Kind,
): Promise<OwnDescription<Kind>[]> {
  return db.query<OwnDescription<Kind>>(list, [systemId, kind]);
}

/** Returns a text that differs whenever the operator has changed a fact of a system. */
export async function findDescriptionsState(db: QueryRunner, systemId: string): Promise<string> {
  return oneRow(await db.query<{ state: string }>(state, [systemId])).state;
}

/** Stores the operator's facts of a thing, and notifies listeners when the transaction commits. */
export async function updateDescription<Kind extends FactKind>(
  tx: Transaction,
  systemId: string,
  kind: Kind,
  { id, content }: OwnDescription<Kind>,
  now: Date,
): Promise<void> {
  await tx.query(upsert, [systemId, kind, id, JSON.stringify(content), now]);
  // The listeners of the channel of stations also cache documents with descriptions.
  tx.notify("stations", systemId);
}

/** Deletes the operator's facts of a thing, and notifies like `updateDescription`. @returns false when there are none */
export async function deleteDescription(
  tx: Transaction,
  systemId: string,
  kind: FactKind,
  id: string,
): Promise<boolean> {
  const isDeleted = (await tx.query(remove, [systemId, kind, id])).length === 1;
  // Also if nothing was deleted: it only makes listeners build their documents again.
  tx.notify("stations", systemId);
  return isDeleted;
}

const used = statement(
  "descriptions.regionsUsed",
  "select distinct region_id as id from stations where system_id = $1 and region_id is not null",
);

const regionUsed = statement(
  "descriptions.isRegionUsed",
  "select exists (select from stations where system_id = $1 and region_id = $2) as is_used",
);

// Steps through an index from each type to the next: the cost depends on the number of types, not of rows.
// After the last type the step is null, which ends the recursion.
const distinctTypes = (table: "bikes" | "rides") => `
  (with recursive step (id) as (
     (select vehicle_type_id from ${table} where system_id = $1 and vehicle_type_id is not null
      order by vehicle_type_id limit 1)
     union all
     select (select each.vehicle_type_id from ${table} as each where each.system_id = $1 and each.vehicle_type_id > step.id
             order by each.vehicle_type_id limit 1)
     from step where step.id is not null)
   select id from step where id is not null)`;

const atStations = `
  select type ->> 'vehicle_type_id' as id
  from stations s, json_array_elements(s.vehicle_types_available) as type where s.system_id = $1`;

const namedNow = statement(
  "descriptions.typesNamedNow",
  `select id from ${distinctTypes("bikes")} as b union ${atStations}`,
);
const ridden = statement("descriptions.typesNamedEver", `select id from ${distinctTypes("rides")} as r`);

const uses = statement(
  "descriptions.typeUses",
  `select exists (select from bikes where system_id = $1 and vehicle_type_id = $2) as by_bikes,
     exists (select from rides where system_id = $1 and vehicle_type_id = $2) as by_rides,
     exists (select from (${atStations}) as s where id = $2) as by_stations`,
);

/** Returns the ids of the regions in which stations are. */
export async function findUsedRegions(db: QueryRunner, systemId: string): Promise<string[]> {
  return (await db.query<{ id: string }>(used, [systemId])).map(({ id }) => id);
}

/** Tells whether any station is in a region. */
export async function isRegionUsed(db: QueryRunner, systemId: string, id: string): Promise<boolean> {
  return oneRow(await db.query<{ is_used: boolean }>(regionUsed, [systemId, id])).is_used;
}

/** Returns the ids of the vehicle types of bikes and stations. */
export async function findNamedTypes(db: QueryRunner, systemId: string): Promise<string[]> {
  return (await db.query<{ id: string }>(namedNow, [systemId])).map(({ id }) => id);
}

/** Returns the ids of the vehicle types of rides. */
export async function findRiddenTypes(db: QueryRunner, systemId: string): Promise<string[]> {
  return (await db.query<{ id: string }>(ridden, [systemId])).map(({ id }) => id);
}

/** Whether bikes, rides or stations name a vehicle type. */
interface TypeUses {
  readonly by_bikes: boolean;
  readonly by_rides: boolean;
  readonly by_stations: boolean;
}

/** Tells whether bikes, rides or stations name a vehicle type. */
export async function findTypeUses(db: QueryRunner, systemId: string, id: string): Promise<TypeUses> {
  return oneRow(await db.query<TypeUses>(uses, [systemId, id]));
}

const publishedIdOfSource = statement(
  "descriptions.publishedIdOfSource",
  `select published_id from gbfs_sources where system_id = $1 and published_id is not null
   order by first_at, source limit 1`,
);

/** Returns the `system_id` that the first source with one publishes; undefined: no source publishes one. */
export async function findPublishedIdOfSource(db: QueryRunner, systemId: string): Promise<string | undefined> {
  return (await db.query<{ published_id: string }>(publishedIdOfSource, [systemId]))[0]?.published_id;
}

const stationFacts = statement(
  "descriptions.stationFacts",
  "select source_facts as facts from stations where system_id = $1 and id = $2 and status <> 'removed'",
);
const bikeFacts = statement(
  "descriptions.bikeFacts",
  "select source_facts as facts from bikes where system_id = $1 and id = $2 and vehicle_state <> 'removed'",
);

/**
 * Returns the facts of a station or bike from its source, besides those in columns; undefined: it does not exist or was
 * removed.
 */
export async function findFactsOfSource<Kind extends "station" | "bike">(
  db: QueryRunner,
  systemId: string,
  kind: Kind,
  id: string,
): Promise<FactsOf<Kind> | undefined> {
  const statementOfKind = kind === "station" ? stationFacts : bikeFacts;
  const [row] = await db.query<{ facts: FactsOf<Kind> | null }>(statementOfKind, [systemId, id]);
  return row && (row.facts ?? {});
}
