import type { Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { DROPPED, DROPPED_OR_SKIPPED, SKIPPED } from "../queue/sql-fragments.ts";

/* Statements that count deliveries over time, and the causes of failures, for a chart. */

/**
 * Maximum deliveries that a chart counts: the newest ones. Too low: a busy day is cut off. Too high: one chart reads for
 * longer than 100 ms.
 */
const MAX_CHARTED_ROWS = 50_000;
/** Maximum failed deliveries whose causes are counted. They are scattered over the table, so they cost more to read. */
const MAX_CAUSE_ROWS = 10_000;
const MAX_CAUSES = 12;
/** Maximum bytes of a response that are read, to show its first words. */
const MAX_ANSWER_BYTES = 400;

/**
 * Returns SQL for the newest deliveries of a range, as `newest`. Each endpoint has an equal share of the rows that may be
 * read. If an endpoint has more rows than its share, `cut` is the time back to which all endpoints were read, and older rows
 * are left out.
 * @param share how many rows of each endpoint may be read
 */
const newestOf = (columns: string, share: string, condition = "") => `
   with read as materialized (
     select delivery.* from unnest($2::text[]) as chosen (endpoint_id)
     cross join lateral (
       select endpoint_id, created_at, ${columns} from webhook_deliveries
       where system_id = $1 and endpoint_id = chosen.endpoint_id
         and created_on between $3::timestamptz::date and $4::timestamptz::date and created_at >= $3 and created_at < $4
         ${condition} order by created_at desc, id desc limit ${share} + 1) as delivery),
   cut as materialized (
     select max(oldest_at) as at from (
       select min(created_at) as oldest_at from read group by endpoint_id having count(*) > ${share}) as full_shares),
   newest as (select * from read where created_at >= coalesce((select at from cut), $3))`;

const counts = statement(
  "deliveries.overTime",
  `${newestOf("status, problem, latest_failure", "$6::int")}
   select width_bucket(created_at, $5::timestamptz[]) as step,
     (count(*) filter (where status = 'succeeded'))::int as succeeded,
     (count(*) filter (where status = 'pending' and problem is null))::int as waiting,
     (count(*) filter (where problem = 'failing'))::int as failing,
     (count(*) filter (where status = 'failed' and coalesce(latest_failure, '') not in ${DROPPED_OR_SKIPPED}))::int as failed,
     (count(*) filter (where status = 'held'))::int as held,
     (count(*) filter (where status = 'failed' and latest_failure in ${DROPPED_OR_SKIPPED}))::int as dropped,
     (select at from cut) as cut_at
   from newest group by step`,
);

/** The deliveries that were created in one step of the chart, counted by their present state. */
export interface StepRow {
  /** The index of the step, from 1. */
  readonly step: number;
  readonly succeeded: number;
  /** Pending, and no attempt has failed yet. */
  readonly waiting: number;
  /** Pending after a failed attempt. */
  readonly failing: number;
  readonly failed: number;
  readonly held: number;
  /** Dropped on request, or skipped by the hourly limit. */
  readonly dropped: number;
  /** The time back to which the deliveries of the range were read; null: all were read. */
  readonly cut_at: Date | null;
}

/** Deliveries of some endpoints in a range. */
export interface ChartedRange {
  readonly systemId: string;
  readonly endpointIds: readonly string[];
  /** Where each step begins, and where the last one ends. */
  readonly bounds: readonly Date[];
}

function valuesOf({ systemId, endpointIds, bounds }: ChartedRange): unknown[] {
  return [systemId, endpointIds, bounds[0], bounds.at(-1)];
}

/** Returns how many rows of each endpoint may be read. */
function shareOf({ endpointIds }: ChartedRange, rows: number): number {
  return Math.floor(rows / endpointIds.length);
}

/**
 * Counts the newest deliveries of a range, step by step. Reads at most MAX_CHARTED_ROWS rows, and one more for each endpoint
 * to see whether it has more.
 */
export function countDeliverySteps(tx: Transaction, range: ChartedRange): Promise<StepRow[]> {
  return tx.query<StepRow>(counts, [...valuesOf(range), range.bounds, shareOf(range, MAX_CHARTED_ROWS)]);
}

/**
 * SQL for the status code of a cause. A dropped delivery may still have the code of an attempt from before it was held. The
 * code is left out, so that all dropped deliveries are one row, and all skipped ones another.
 */
const CODE_OF_CAUSE = `case when latest_failure not in ${DROPPED_OR_SKIPPED} then failed_code end`;
const causes = statement(
  "deliveries.causes",
  `${newestOf(`id, coalesce(latest_failure, 'unknown') as failure, ${CODE_OF_CAUSE} as code`, "$5::int", "and problem in ('failing', 'failed')")}
   select failure, code, count(*)::int as deliveries, min(created_at) as first_at, max(created_at) as last_at,
     (array_agg(id order by created_at desc, id desc))[1] as newest_id, (select at from cut) as cut_at
   from newest
   group by failure, code order by failure in ${DROPPED_OR_SKIPPED} desc, deliveries desc, failure, code limit ${MAX_CAUSES + 2}`,
);

/** Deliveries that fail for the same reason. */
export interface CauseRow {
  readonly failure: string;
  readonly code: number | null;
  readonly deliveries: number;
  readonly first_at: Date;
  readonly last_at: Date;
  readonly newest_id: string;
}

/** Why deliveries fail, the most frequent cause first. */
interface CountedCauses {
  readonly causes: readonly CauseRow[];
  /** The time back to which deliveries were counted; null: all were counted. */
  readonly countedFrom: Date | null;
}

/**
 * Counts the newest deliveries of a range that fail or were given up, by cause. Dropped and skipped deliveries are
 * neither. They are removed here: with a condition in the statement, PostgreSQL could pass over any number of them.
 * They are the first rows of the result, two at most (CODE_OF_CAUSE), so that MAX_CAUSES others fit.
 */
export async function countDeliveryCauses(tx: Transaction, range: ChartedRange): Promise<CountedCauses> {
  const values = [...valuesOf(range), shareOf(range, MAX_CAUSE_ROWS)];
  const rows = await tx.query<CauseRow & Pick<StepRow, "cut_at">>(causes, values);
  return {
    causes: rows.filter(({ failure }) => failure !== DROPPED && failure !== SKIPPED).slice(0, MAX_CAUSES),
    countedFrom: rows[0]?.cut_at ?? null,
  };
}

const answers = statement(
  "deliveries.answersOfCauses",
  `select answer.* from unnest($2::text[]) as wanted (id)
   cross join lateral (
     select delivery_id, substring(response_body for ${MAX_ANSWER_BYTES}) as body
     from generate_series($3::date::timestamp, $4::date::timestamp, interval '1 day') as day
     join webhook_attempts on system_id = $1 and started_on = day::date and delivery_id = wanted.id
     where response_body is not null
     order by number desc limit 1) as answer`,
);

/**
 * Returns the beginning of the newest response to each of the deliveries that has one.
 * @param from, to the first and the last day of the attempts
 */
export function listAnswers(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
  from: Date,
  to: Date,
): Promise<{ readonly delivery_id: string; readonly body: Buffer }[]> {
  return tx.query(answers, [systemId, ids, from, to]);
}
