import { createTestDelivery } from "@bikeshare/webhooks/testing";
import { commandError } from "../../errors/command-errors.ts";
import { type EndpointContext, type PartnerScope, recordEndpointAct } from "../endpoints/endpoint-context.ts";
import { mustBeSet } from "../endpoints/endpoint-lookup.ts";
import { findEndpoint } from "../endpoints/endpoint-queries.ts";
import { offeredEvents } from "../endpoints/endpoint.ts";
import { tellDue } from "../queue/replay-queries.ts";
import { insertTestDelivery } from "../queue/test-delivery-queries.ts";
import { TEST_MARK } from "../queue/test-mark.ts";
import { countWorkers } from "../queue/worker-queries.ts";
import { MAX_TRIES } from "../rules/retry-policy.ts";

export interface TestDeliveryInput extends PartnerScope {
  /** Of which event; left out: the first that the endpoint gets. */
  readonly event?: string | undefined;
}

/**
 * Puts a test delivery in line: the documentation's example of an event, signed, sent and logged as any other, but tried
 * once. Its id ends in `_test`. It counts as any other for the endpoint's health, and goes to an endpoint that has not
 * chosen the event as well.
 * @returns its id
 * @throws ServiceError when there is no endpoint or event, the endpoint is paused, or no process is there to send it
 */
export async function sendTestDelivery(context: EndpointContext, input: TestDeliveryInput): Promise<string> {
  const { db, ids, clock } = context;
  const { systemId, partnerId } = input;
  const endpoint = await mustBeSet(context, await findEndpoint(db, systemId, partnerId), input);
  const event = input.event ?? endpoint.events[0] ?? "";
  if (!offeredEvents.includes(event)) {
    throw commandError("invalid_parameter", "unknownEvent", {
      event: JSON.stringify(event),
      events: offeredEvents.join(", "),
    });
  }
  if (endpoint.status === "paused") {
    throw commandError("conflict", "endpointPausedProbe", { partnerId });
  }
  if ((await countWorkers(db, systemId)) === 0) {
    throw commandError("conflict", "notSending");
  }
  const eventId = ids.next("event");
  const id = `delivery_${eventId.slice(eventId.indexOf("_") + 1)}${endpoint.tag}${TEST_MARK}`;
  return db.transaction(async (tx) => {
    const now = new Date(clock());
    const data = JSON.stringify(createTestDelivery({ event }).data);
    // As if all its tries but one were over: it is never tried again.
    const test = { id, endpointId: endpoint.id, eventId, event, data, tries: MAX_TRIES - 1 };
    await insertTestDelivery(tx, systemId, test, now);
    await recordEndpointAct(context, tx, systemId, "webhook.tested", endpoint.id, { delivery_id: id, event });
    await tellDue(tx, systemId);
    return id;
  });
}
