import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { countedSteps } from "../../storage/lists/counted-steps.rules.ts";
import type { EndpointScope } from "../endpoints/endpoint-context.ts";
import { listedEndpoints } from "./deliveries.ts";
import { updateSearchSettings } from "./delivery-queries.ts";
import { excerptOf } from "./delivery-view.ts";
import { adviceOn, type FailureAdvice } from "./failure-advice.rules.ts";
import {
  type CauseRow,
  type ChartedRange,
  countDeliveryCauses,
  countDeliverySteps,
  listAnswers,
  type StepRow,
} from "./over-time-queries.ts";

/* Counts deliveries over time, and the causes of failures. The number of rows that it reads is bounded. */

/** Maximum characters of a response that are shown. */
const MAX_EXCERPT = 160;

type Counts = Omit<StepRow, "step" | "cut_at">;

/** A partner's deliveries over time, for a chart, and why some failed. */
export interface OverTime {
  readonly data: readonly {
    readonly from: string;
    readonly to: string;
    /** Null: the step was counted only in part, or not at all. */
    readonly deliveries: Counts | null;
  }[];
  /** The time back to which deliveries were counted; null: all were counted. */
  readonly counted_from: string | null;
  readonly causes: readonly Cause[];
  /** The time back to which causes were counted; null: all were counted. */
  readonly causes_counted_from: string | null;
}

/** Deliveries that fail for the same reason, with advice. */
interface Cause extends Pick<CauseRow, "failure" | "code" | "deliveries" | "newest_id"> {
  readonly advice: FailureAdvice | null;
  /** The beginning of the newest delivery's response; null: it has none to show. */
  readonly says: string | null;
  readonly first_at: string;
  readonly last_at: string;
}

/**
 * Counts the deliveries of an endpoint, or of all endpoints of a partner: step by step by their present state, and those
 * that fail by cause.
 * @param bounds where each step begins, and where the last one ends
 * @throws ServiceError when there is no endpoint
 */
export async function deliveriesOverTime(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  scope: EndpointScope,
  bounds: readonly Date[],
): Promise<OverTime> {
  const endpoints = await listedEndpoints(db, scope);
  const range = { systemId: scope.systemId, endpointIds: endpoints.map(({ id }) => id), bounds };
  return db.transaction(async (tx) => {
    await updateSearchSettings(tx);
    const steps = await countDeliverySteps(tx, range);
    const { causes, countedFrom: causesFrom } = await countDeliveryCauses(tx, range);
    const excerpts = await answersOf(tx, range, causes, clock());
    // Every row has the same `cut_at`.
    const { steps: counted, countedFrom } = countedSteps(bounds, steps, steps[0]?.cut_at ?? null);
    return {
      data: counted.map(({ from, to, isCounted, row }) => ({ from, to, deliveries: isCounted ? countsOf(row) : null })),
      counted_from: countedFrom,
      causes: causes.map((cause) => causeOf(cause, excerpts.get(cause.newest_id) ?? null)),
      causes_counted_from: causesFrom?.toISOString() ?? null,
    };
  });
}

/** Returns the counts of a step; all are 0 if no delivery was created in it (undefined). */
function countsOf(row: StepRow | undefined): Counts {
  const { succeeded = 0, waiting = 0, failing = 0, failed = 0, held = 0, dropped = 0 } = row ?? {};
  return { succeeded, waiting, failing, failed, held, dropped };
}

function causeOf({ failure, code, deliveries, first_at, last_at, newest_id }: CauseRow, says: string | null): Cause {
  // A failure such as `http_4xx` means a complete response. `code` is its status.
  const outcome = code !== null && failure.startsWith("http_") ? "rejected" : "failed";
  return {
    failure,
    code,
    deliveries,
    newest_id,
    says,
    advice: adviceOn({ outcome, failure, status: code }),
    first_at: first_at.toISOString(),
    last_at: last_at.toISOString(),
  };
}

/** Returns the beginning of the newest response for each cause that has one, such as "no signature matches". */
async function answersOf(
  tx: Transaction,
  { systemId, bounds }: ChartedRange,
  causes: readonly CauseRow[],
  now: number,
): Promise<ReadonlyMap<string, string>> {
  const [from] = bounds;
  const ids = causes.flatMap(({ code, newest_id: id }) => (code === null ? [] : [id]));
  if (ids.length === 0 || from === undefined) return new Map();
  const answers = await listAnswers(tx, systemId, ids, from, new Date(now));
  return new Map(
    answers.flatMap(({ delivery_id: id, body }) => {
      const words = excerptOf(new TextDecoder().decode(body), MAX_EXCERPT);
      return words === "" ? [] : [[id, words] as const];
    }),
  );
}
