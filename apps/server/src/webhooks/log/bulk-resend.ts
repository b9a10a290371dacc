import { serviceError } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import type { Queryable } from "../../storage/db/database.ts";
import {
  type PartnerScope,
  recordEndpointAct,
  requireEndpoint,
  requireEndpointOrRemoved,
} from "../endpoints/endpoint-context.ts";
import type { EndpointRow } from "../endpoints/endpoint-queries.ts";
import {
  type BulkResendRow,
  countChosen,
  findBulkResend,
  insertBulkResend,
  MAX_RESENDS,
  type NamedDeliveries,
} from "./bulk-resend-queries.ts";
import { likelyDays, searchOf } from "./deliveries.ts";
import type { DeliveryFilter } from "./delivery-filter.rules.ts";
import { stopReplay } from "./replays.ts";
import type { DeliverySearch } from "./search-sql-fragments.ts";

/** The chosen deliveries: by their ids, or by a filter. */
export type ResendChoice = { readonly ids: readonly string[] } | { readonly filter: DeliveryFilter };

/** Many deliveries that are sent again. */
export interface BulkResend extends Omit<BulkResendRow, "is_stopped"> {
  /** `waiting`: until the endpoint is active, or until an earlier one is done. */
  readonly status: "running" | "waiting" | "finished" | "cancelled";
}

/**
 * Returns how many deliveries a resend would send now.
 * @throws ServiceError when there is no endpoint, or more match than one resend may send
 */
export async function countResend(context: ActorContext, scope: PartnerScope, choice: ResendChoice): Promise<number> {
  const endpoint = await requireEndpoint(context.db, scope);
  return countWithinLimit(context.db, chosen(context, scope.systemId, endpoint, choice));
}

/**
 * Sends deliveries again, behind newer ones: pending ones keep their schedule, all others begin a new one. Skips deliveries
 * that succeed before their turn.
 * @throws ServiceError when there is no endpoint, or more match than one resend may send
 */
export async function startResend(
  context: ActorContext,
  scope: PartnerScope,
  choice: ResendChoice,
): Promise<BulkResend> {
  const { systemId } = scope;
  return context.db.transaction(async (tx) => {
    const endpoint = await requireEndpoint(tx, scope);
    const deliveries = chosen(context, systemId, endpoint, choice);
    await countWithinLimit(tx, deliveries);
    const now = new Date(context.clock());
    const row = await insertBulkResend(tx, deliveries, { id: context.ids.next("replay"), now });
    const detail = {
      resend_id: row.id,
      total: row.total,
      ...("ids" in choice ? {} : { filters: { ...choice.filter } }),
    };
    await recordEndpointAct(context, tx, systemId, "webhook.resent", endpoint.id, detail);
    return describe({ ...row, is_behind: false }, endpoint);
  });
}

/**
 * How far a resend is.
 * @throws ServiceError when there is none of this partner
 */
export async function showResend(
  { db }: { readonly db: Queryable },
  scope: PartnerScope,
  id: string,
): Promise<BulkResend> {
  const endpoint = await requireEndpointOrRemoved(db, scope);
  const row = await findBulkResend(db, scope.systemId, endpoint.id, id);
  if (row === undefined) throw commandError("not_found", "replay", { id });
  return describe(row, endpoint);
}

/**
 * Cancels a resend: queued deliveries are sent, the others stay as they are.
 * @throws ServiceError when the partner has no such resend
 */
export async function cancelResend(context: ActorContext, scope: PartnerScope, id: string): Promise<BulkResend> {
  await showResend(context, scope, id);
  await stopReplay(context, scope.systemId, id);
  return showResend(context, scope, id);
}

function chosen(
  context: ActorContext,
  systemId: string,
  { id: endpointId }: EndpointRow,
  choice: ResendChoice,
): DeliverySearch | NamedDeliveries {
  if ("filter" in choice) return searchOf(context, { systemId, endpointId, filter: choice.filter });
  const { ids } = choice;
  return { systemId, endpointId, ids, days: [...new Set(ids.flatMap((id) => likelyDays(id, context.clock())))] };
}

async function countWithinLimit(db: Queryable, deliveries: DeliverySearch | NamedDeliveries): Promise<number> {
  const { total, is_cut: isCut } = await countChosen(db, deliveries);
  if (!isCut && total <= MAX_RESENDS) return total;
  throw serviceError("invalid_parameter", "tooManyToResend", { limit: MAX_RESENDS });
}

function describe(
  { is_stopped: isStopped, is_behind: isBehind, ...row }: BulkResendRow & { readonly is_behind: boolean },
  endpoint: EndpointRow,
): BulkResend {
  if (row.finished_at !== null) return { ...row, status: isStopped ? "cancelled" : "finished" };
  return { ...row, status: isBehind || endpoint.status !== "active" ? "waiting" : "running" };
}
