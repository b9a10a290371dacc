import type { Flow } from "@bikeshare/contract";
import type { QueryRunner } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

const PAGE = `sum(rides)::int as rides from flow_days
   where system_id = $1 and day between $2::date and $3::date and (start_station_id, end_station_id) > ($4, $5)`;
const ORDER = `group by start_station_id, end_station_id order by start_station_id, end_station_id limit $6::int`;

const pairs = statement("flows.pairs", `select start_station_id, end_station_id, ${PAGE} ${ORDER}`);

// A union rather than `or`: each half is one stretch of an index.
const pairsOfStation = statement(
  "flows.pairsOfStation",
  `select start_station_id, end_station_id, sum(rides)::int as rides
   from (
     select start_station_id, end_station_id, rides from flow_days
     where system_id = $1 and day between $2::date and $3::date and start_station_id = $7
     union all
     select start_station_id, end_station_id, rides from flow_days
     where system_id = $1 and day between $2::date and $3::date and end_station_id = $7 and start_station_id <> $7) as flows
   where (start_station_id, end_station_id) > ($4, $5) ${ORDER}`,
);

/** Which pairs of stations. */
export interface PairSelection {
  /** The first and the last day. */
  readonly from: string;
  readonly to: string;
  readonly stationId: string | undefined;
  /** The pair that they come after. */
  readonly after: readonly [start: string, end: string];
  readonly limit: number;
}

/** Returns pairs of stations with their rides, in the order of the stations' ids. */
export function listPairs(
  db: QueryRunner,
  systemId: string,
  { from, to, stationId, after: [start, end], limit }: PairSelection,
): Promise<Flow[]> {
  const values = [systemId, from, to, start, end, limit];
  return stationId === undefined
    ? db.query<Flow>(pairs, values)
    : db.query<Flow>(pairsOfStation, [...values, stationId]);
}

const neighbours = (from: "start_station_id" | "end_station_id", other: "start_station_id" | "end_station_id") =>
  statement(
    `flows.neighbours.${from}`,
    `with summed as materialized (
       select ${other} as station_id, sum(rides)::int as rides from flow_days
       where system_id = $1 and ${from} = $2 and day between $3::date and $4::date group by ${other}),
     best as (
       select summed.*, (select coalesce(sum(rides), 0) from summed)::int as total
       from summed order by rides desc, station_id limit $5::int)
     select best.station_id, s.name, s.lat, s.lon, best.rides, best.total
     from best left join stations s on s.system_id = $1 and s.id = best.station_id
     order by best.rides desc, best.station_id`,
  );

const neighbourStatements = {
  out: neighbours("start_station_id", "end_station_id"),
  in: neighbours("end_station_id", "start_station_id"),
};

export interface NeighbourRow {
  readonly station_id: string;
  readonly name: string | null;
  readonly lat: number | null;
  readonly lon: number | null;
  readonly rides: number;
  /** Rides of all neighbours together. */
  readonly total: number;
}

/** Returns the stations with which a station has most rides. */
export function listNeighbours(
  db: QueryRunner,
  systemId: string,
  direction: "out" | "in",
  { stationId, from, to, limit }: { stationId: string; from: string; to: string; limit: number },
): Promise<NeighbourRow[]> {
  return db.query<NeighbourRow>(neighbourStatements[direction], [systemId, stationId, from, to, limit]);
}

const recent = statement(
  "flows.recent",
  `with summed as materialized (
     select start_station_id, end_station_id, count(*)::int as rides from rides
     where system_id = $1 and ended_at > $2::timestamptz and ended_at <= $3::timestamptz and status = 'completed'
       and start_station_id is not null and end_station_id is not null
     group by start_station_id, end_station_id)
   select summed.*, (select coalesce(sum(rides), 0) from summed)::int as total
   from summed order by rides desc, start_station_id, end_station_id limit $4::int`,
);

/** Returns where the rides went that ended in a short time, the most frequent pairs first. */
export function listRecentPairs(
  db: QueryRunner,
  systemId: string,
  { from, to, limit }: { readonly from: Date; readonly to: Date; readonly limit: number },
): Promise<(Flow & { readonly total: number })[]> {
  return db.query<Flow & { readonly total: number }>(recent, [systemId, from, to, limit]);
}
