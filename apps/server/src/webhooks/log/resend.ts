import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { createTestDelivery } from "@bikeshare/webhooks/testing";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import { type PartnerScope, recordEndpointAct, requireEndpoint } from "../endpoints/endpoint-context.ts";
import { isRemoved, offeredEvents } from "../endpoints/endpoint.rules.ts";
import {
  insertRedelivery,
  insertTestDelivery,
  notifyQueued,
  updateAllDueNow,
  updateDueNow,
} from "../queue/enqueue-queries.ts";
import { countWorkers } from "../queue/lane-queries.ts";
import { isTestDelivery, TEST_SUFFIX } from "../queue/sql-fragments.ts";
import { MAX_TRIES } from "../rules/retry-policy.ts";
import { type DeliveryScope, endpointOf, requireDelivery } from "./deliveries.ts";

/** A delivery that somebody asked to be sent again. */
export interface Redelivery {
  readonly id: string;
  /**
   * `redelivered`: it was finished, and begins a fresh schedule. `retried_now`: it waited for its next attempt, which is
   * due now; its schedule goes on. `already_due`: it is due or being sent, and nothing was changed.
   */
  readonly outcome: "redelivered" | "retried_now" | "already_due";
}

/**
 * Sends a delivery again, now, under the same `delivery_id`.
 * @throws ServiceError when there is no such delivery, its endpoint is paused, or its body is no longer stored
 */
export async function redeliver(context: ActorContext, scope: DeliveryScope, id: string): Promise<Redelivery> {
  const { systemId } = scope;
  const row = await requireDelivery(context, scope, id);
  const endpoint = await endpointOf(context, systemId, row);
  if (isTestDelivery(id)) {
    throw commandError("invalid_parameter", "testDelivery", { id });
  }
  if (endpoint.status === "paused") {
    const message = isRemoved(endpoint) ? "endpointRemoved" : "endpointPaused";
    throw commandError("conflict", message, { partnerId: row.partner_id });
  }
  if (!row.has_body) throw commandError("conflict", "deliveryNotKept", { id, days: EVENT_RETENTION_DAYS });
  return context.db.transaction(async (tx) => {
    const now = new Date(context.clock());
    const isBack = await insertRedelivery(tx, systemId, row, now);
    const isRetriedNow = !isBack && (await updateDueNow(tx, systemId, id, now));
    if (!isBack && !isRetriedNow) return { id, outcome: "already_due" };
    const detail = { partner_id: row.partner_id, was: row.status };
    await insertActOf(context, tx, { systemId, at: now, action: "webhook.redelivered", subject: id, detail });
    await notifyQueued(tx, systemId);
    return { id, outcome: isBack ? "redelivered" : "retried_now" };
  });
}

/** Deliveries made due in one transaction. More would keep their results from being written for long. */
const RETRY_BATCH = 1_000;

/**
 * Makes all of an endpoint's deliveries that wait for their next attempts due now, each in its own schedule: for an
 * endpoint that works again, so that they need not wait for hours.
 * @returns how many
 * @throws ServiceError when there is no endpoint, or it is paused: then its deliveries are held
 */
export async function retryEndpointNow(context: ActorContext, scope: PartnerScope): Promise<number> {
  const { db, clock } = context;
  const { systemId, partnerId } = scope;
  const endpoint = await requireEndpoint(db, scope);
  if (endpoint.status === "paused") {
    throw commandError("conflict", "endpointPausedReplay", { partnerId });
  }
  // A delivery that begins to wait meanwhile has just been tried.
  const now = new Date(clock());
  let count = 0;
  for (let last = RETRY_BATCH; last === RETRY_BATCH; count += last) {
    last = await updateAllDueNow(db, systemId, endpoint.id, now, RETRY_BATCH);
  }
  if (count === 0) return 0;
  await db.transaction(async (tx) => {
    await recordEndpointAct(context, tx, systemId, "webhook.retried_now", endpoint.id, { deliveries: count });
    await notifyQueued(tx, systemId);
  });
  return count;
}

export interface TestDeliveryInput extends PartnerScope {
  /** The event's name; left out: the first that the endpoint subscribes to. */
  readonly event?: string | undefined;
}

/**
 * Queues a test delivery: the documentation's example of an event, signed, sent and logged as any other, but tried
 * once. Its id ends in `_test`. It counts as any other for the endpoint's health, and goes to an endpoint that does not
 * subscribe to the event as well.
 * @returns its id
 * @throws ServiceError when there is no endpoint or event, the endpoint is paused, or no process is running to send it
 */
export async function sendTestDelivery(context: ActorContext, input: TestDeliveryInput): Promise<string> {
  const { db, ids, clock } = context;
  const { systemId, partnerId } = input;
  const endpoint = await requireEndpoint(db, input);
  const event = input.event ?? endpoint.events[0] ?? "";
  if (!offeredEvents.includes(event)) {
    const events = offeredEvents.join(", ");
    throw commandError("invalid_parameter", "unknownEvent", { event: JSON.stringify(event), events });
  }
  if (endpoint.status === "paused") throw commandError("conflict", "endpointPausedProbe", { partnerId });
  if ((await countWorkers(db, systemId)) === 0) throw commandError("conflict", "notSending");
  const eventId = ids.next("event");
  const id = `delivery_${eventId.slice(eventId.indexOf("_") + 1)}${endpoint.tag}${TEST_SUFFIX}`;
  return db.transaction(async (tx) => {
    const now = new Date(clock());
    const data = JSON.stringify(createTestDelivery({ event }).data);
    // All attempts but one count as made, so that the test is never tried again.
    const test = { id, endpointId: endpoint.id, eventId, event, data, tries: MAX_TRIES - 1 };
    await insertTestDelivery(tx, systemId, test, now);
    await recordEndpointAct(context, tx, systemId, "webhook.tested", endpoint.id, { delivery_id: id, event });
    await notifyQueued(tx, systemId);
    return id;
  });
}
