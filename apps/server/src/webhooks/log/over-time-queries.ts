import type { Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { DROPPED, SKIPPED, UNTRIED } from "../queue/sql-fragments.ts";

/**
 * Deliveries that a chart counts at most, the newest. Too low: a busy day is cut off. Too high: one chart reads for longer
 * than 100 ms.
 */
export const MAX_CHARTED_ROWS = 50_000;
/** Failed deliveries whose causes are counted at most. They lie apart from one another, and cost more to read. */
const MAX_CAUSE_ROWS = 10_000;
const MAX_CAUSES = 12;
/** Bytes of an answer that are read for a few words of it. */
const MAX_ANSWER_BYTES = 400;

const inRange = `system_id = $1 and endpoint_id = $2
       and created_on between $3::timestamptz::date and $4::timestamptz::date and created_at >= $3 and created_at < $4`;

const counts = statement(
  "deliveries.overTime",
  `select width_bucket(created_at, $5::timestamptz[]) as step,
     (count(*) filter (where status = 'succeeded'))::int as succeeded,
     (count(*) filter (where status = 'pending' and problem is null))::int as waiting,
     (count(*) filter (where problem = 'failing'))::int as failing,
     (count(*) filter (where status = 'failed' and coalesce(latest_failure, '') not in ${UNTRIED}))::int as failed,
     (count(*) filter (where status = 'held'))::int as held,
     (count(*) filter (where status = 'failed' and latest_failure in ${UNTRIED}))::int as dropped,
     count(*)::int as n, min(created_at) as oldest_at
   from (
     select created_at, status, problem, latest_failure from webhook_deliveries
     where ${inRange} order by created_at desc, id desc limit ${MAX_CHARTED_ROWS + 1}) as newest
   group by step`,
);

/** The deliveries of one step, by how they are now. */
export interface StepRow {
  /** The index of the step, from 1. */
  readonly step: number;
  readonly succeeded: number;
  readonly waiting: number;
  readonly failing: number;
  readonly failed: number;
  readonly held: number;
  readonly dropped: number;
  /** All of them. */
  readonly n: number;
  readonly oldest_at: Date;
}

/** Deliveries of an endpoint in a range. */
export interface ChartedRange {
  readonly systemId: string;
  readonly endpointId: string;
  /** Where each step begins, and where the last one ends. */
  readonly bounds: readonly Date[];
}

function valuesOf({ systemId, endpointId, bounds }: ChartedRange): unknown[] {
  return [systemId, endpointId, bounds[0], bounds.at(-1)];
}

/** Counts the newest deliveries of a range step by step: MAX_CHARTED_ROWS, and one more where there are more. */
export function countDeliverySteps(tx: Transaction, range: ChartedRange): Promise<StepRow[]> {
  return tx.query<StepRow>(counts, [...valuesOf(range), range.bounds]);
}

const causes = statement(
  "deliveries.causes",
  `select failure, code, count(*)::int as deliveries, min(created_at) as first_at, max(created_at) as last_at,
     (array_agg(id order by created_at desc, id desc))[1] as newest_id, (sum(count(*)) over ())::int as n,
     min(min(created_at)) over () as oldest_at
   from (
     select id, created_at, coalesce(latest_failure, 'unknown') as failure, failed_code as code from webhook_deliveries
     where ${inRange} and problem in ('failing', 'failed')
     order by created_at desc, id desc limit ${MAX_CAUSE_ROWS + 1}) as newest
   group by failure, code order by failure in ${UNTRIED} desc, deliveries desc, failure, code limit ${MAX_CAUSES + 2}`,
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
  /** Older deliveries were not read; null: all were. */
  readonly countedFrom: Date | null;
}

/**
 * Counts the newest deliveries of a range that fail or were given up, by cause. Dropped and skipped ones are read with them, because
 * leaving them out would read more than MAX_CAUSE_ROWS, but are no cause.
 */
export async function countDeliveryCauses(tx: Transaction, range: ChartedRange): Promise<CountedCauses> {
  const rows = await tx.query<CauseRow & { readonly n: number; readonly oldest_at: Date }>(causes, valuesOf(range));
  const [first] = rows;
  return {
    causes: rows.filter(({ failure }) => failure !== DROPPED && failure !== SKIPPED).slice(0, MAX_CAUSES),
    countedFrom: first !== undefined && first.n > MAX_CAUSE_ROWS ? first.oldest_at : null,
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

/** The beginning of the newest answer to each of some deliveries that has one. @param from, to the days of attempts */
export function listAnswers(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
  from: Date,
  to: Date,
): Promise<{ readonly delivery_id: string; readonly body: Buffer }[]> {
  return tx.query(answers, [systemId, ids, from, to]);
}
