import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import { findHeldRides, type HeldRides, heldPastRides, type HourOfRides, perHour } from "./ride-import-queries.ts";

const fields = `id, bike_id, start_station_id, end_station_id, started_at, ended_at, duration_seconds, vehicle_type_id,
  rider_category`;

// Private to the connection and gone with the transaction. An import that is tried may wait for its files.
const prepareTrial = `
  set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local client_min_messages = warning;
  create temporary table tried_rides (
    id               text collate "C" primary key,
    bike_id          text collate "C" not null,
    start_station_id text collate "C",
    end_station_id   text collate "C",
    started_at       timestamptz(3) not null,
    ended_at         timestamptz(3) not null,
    duration_seconds integer not null,
    vehicle_type_id  text collate "C",
    rider_category   text
  ) on commit drop`;

const tryPastRides = statement(
  "rides.tryPast",
  `with created as (
     insert into tried_rides (${fields})
     select ${fields} from past_rides
     where not exists (select from rides where rides.system_id = $1 and rides.id = past_rides.id)
     order by row on conflict (id) do nothing
     returning started_at)
   ${perHour("created")}`,
);

const heldOrTried = statement(
  "rides.heldOrTried",
  heldPastRides(`(
    select system_id, ${fields}, status, import_id from rides
    union all select $1, ${fields}, 'completed', null from tried_rides)`),
);

/** Makes the transaction's connection ready to try rides. */
export async function prepareTrialRides(tx: Transaction): Promise<void> {
  await tx.run(prepareTrial);
}

/** Forgets the past rides of the batch before. */
export async function clearPastRides(tx: Transaction): Promise<void> {
  await tx.run("truncate past_rides");
}

/** Sets aside those past rides whose id is free; gives how many start in each hour. */
export function insertTriedRides(tx: Transaction, systemId: string): Promise<HourOfRides[]> {
  return tx.query<HourOfRides>(tryPastRides, [systemId]);
}

/** Compares the past rides with those that have their ids, stored or tried before. */
export function findHeldOrTriedRides(tx: Transaction, systemId: string): Promise<HeldRides> {
  return findHeldRides(tx, systemId, null, heldOrTried);
}
