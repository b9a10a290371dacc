import { recordActOf } from "../../audit/audit-log.ts";
import type { Database } from "../../db/database.ts";
import { commandError } from "../../errors/command-errors.ts";
import { type EndpointContext, type PartnerScope, recordEndpointAct } from "../endpoints/endpoint-context.ts";
import { mustBeSet } from "../endpoints/endpoint-lookup.ts";
import { findEndpoint } from "../endpoints/endpoint-queries.ts";
import {
  countRange,
  countWaiting,
  findReplay,
  finishReplay,
  handOverItems,
  insertReplay,
  listUnfinished,
  lockReplay,
  type ReplayRow,
  stopReplays,
  tellDue,
} from "../queue/replay-queries.ts";
import type { DeliveryState } from "../rules/retry-policy.ts";

/** States that a replay can choose: what is pending is sent anyway. */
export const replayableStates = ["succeeded", "failed", "held"] as const satisfies readonly DeliveryState[];
type ReplayableState = (typeof replayableStates)[number];

export interface ReplayInput extends PartnerScope {
  /** Deliveries made from then on. */
  readonly since: Date;
  /** And before then; now, when left out. */
  readonly until?: Date | undefined;
  /** All that are not pending, when left out. */
  readonly statuses?: readonly ReplayableState[] | undefined;
  /** Only count. */
  readonly dryRun?: boolean | undefined;
}

export interface Replay {
  /** Null: only counted. */
  readonly id: string | null;
  /** Deliveries that it sends. */
  readonly total: number;
  readonly since: Date;
  readonly until: Date;
  /** The endpoint's: a replay waits until it is `active`. */
  readonly endpoint_status: "active" | "probing" | "paused";
}

/**
 * Sends a range of deliveries again. They are counted and noted down at once; what happens later neither joins nor leaves
 * them. They are sent behind whatever happens meanwhile.
 * @throws ServiceError when there is no endpoint, or the range is empty by itself
 */
export async function createReplay(context: EndpointContext, input: ReplayInput): Promise<Replay> {
  const { systemId, partnerId, since, statuses = replayableStates, dryRun = false } = input;
  const now = new Date(context.clock());
  // This very millisecond is still in.
  const end = new Date(now.getTime() + 1);
  const until = input.until === undefined || input.until > end ? end : input.until;
  if (since >= until) throw commandError("invalid_parameter", "emptyReplay");
  return context.db.transaction(async (tx) => {
    const endpoint = await mustBeSet(context, await findEndpoint(tx, systemId, partnerId), input);
    const range = { systemId, endpointId: endpoint.id, since, until, statuses };
    const about = { since, until, endpoint_status: endpoint.status };
    if (dryRun) return { id: null, total: await countRange(tx, range), ...about };
    const { id, total } = await insertReplay(tx, range, context.ids.next("replay"), now);
    const detail = { replay_id: id, since, until, statuses, total };
    await recordEndpointAct(context, tx, systemId, "webhook.replayed", endpoint.id, detail);
    return { id, total, ...about };
  });
}

/** A replay that was asked to stop. */
export interface StoppedReplay extends ReplayRow {
  /** False: it was finished already. */
  readonly changed: boolean;
}

/**
 * Stops a replay. What it has handed over is in line, and is sent; the rest stays as it is.
 * @throws ServiceError when there is none
 */
export async function stopReplay(context: EndpointContext, systemId: string, id: string): Promise<StoppedReplay> {
  const { db, clock } = context;
  return db.transaction(async (tx) => {
    const at = new Date(clock());
    const [stopped] = await stopReplays(tx, systemId, { id }, at);
    if (stopped === undefined) {
      const finished = await findReplay(tx, systemId, id);
      if (finished !== undefined) return { ...finished, changed: false };
      throw commandError("not_found", "replay", { id });
    }
    const { total, queued } = stopped;
    const detail = { total, queued };
    await recordActOf(context, tx, { systemId, at, action: "webhook.replay_stopped", subject: id, detail });
    return { ...stopped, changed: true };
  });
}

/**
 * Deliveries of replays that wait in an endpoint's line at a time. Fewer than a second's worth would leave the endpoint
 * idle; many more make the line long for nothing.
 */
const MOST_WAITING = 1_000;

/**
 * Hands over what replays still have to send, as far as there is room in the lines of active endpoints. Each batch is
 * one transaction: whoever dies leaves nothing half done, and any number of workers may call this at once.
 * @returns how many deliveries were handed over
 */
export async function feedReplays(
  { db, clock }: { readonly db: Database; readonly clock: () => number },
  systemId: string,
): Promise<number> {
  let queued = 0;
  // One at a time for each endpoint, in the order in which they were asked for.
  for (const { id, endpoint_id: endpointId } of await listUnfinished(db, systemId)) {
    queued += await db.transaction(async (tx) => {
      if (!(await lockReplay(tx, systemId, id))) return 0;
      const room = MOST_WAITING - (await countWaiting(tx, systemId, endpointId, MOST_WAITING));
      if (room <= 0) return 0;
      const now = new Date(clock());
      const batch = await handOverItems(tx, systemId, id, now, room);
      await finishReplay(tx, systemId, id, now);
      if (batch.queued > 0) await tellDue(tx, systemId);
      return batch.queued;
    });
  }
  return queued;
}
