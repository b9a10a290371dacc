import type { partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import { serviceError } from "../errors/service-error.ts";
import { jsonBody } from "../http/bind.ts";
import { callerOf } from "../http/caller.ts";
import type { CursorSealer } from "../http/cursor.ts";
import { readSliceRequest, writeEnvelope } from "../http/paging.ts";
import type { ReadContext } from "../lists/context.ts";
import { type EventViewer, viewerWith } from "./event.ts";
import { eventPosition, getEvent, listEvents } from "./service.ts";

/** The endpoints of events. */
export function eventRoutes(
  context: ReadContext,
  sealer: CursorSealer,
): RouterImplementation<(typeof partnerContract)["events"]> {
  return {
    list: async ({ query: { page, limit, cursor, ...filters }, request }) => {
      const { systemId, viewer } = viewerOf(request);
      // What can be seen is part of the list's name: the same place in another's list would skip or repeat events.
      const name = { systemId, list: "events", filters: { ...filters, sees: viewer } };
      const slice = readSliceRequest({ page, limit, cursor }, name, sealer, eventPosition);
      const events = await listEvents(context, systemId, viewer, filters, slice);
      return { status: 200, body: jsonBody(writeEnvelope(slice, events, name, sealer, eventPosition)) };
    },
    get: async ({ params: { id }, request }) => {
      const { systemId, viewer } = viewerOf(request);
      const event = await getEvent(context, systemId, viewer, id);
      if (event === undefined) throw serviceError("not_found", "event");
      return { status: 200, body: jsonBody(event) };
    },
  };
}

function viewerOf(request: FastifyRequest): { readonly systemId: string; readonly viewer: EventViewer } {
  const { key } = callerOf(request);
  // The door lets no key without a partner in here.
  if (key.partner_id === null) throw new Error(`${request.url} was reached with a key that has no partner`);
  return { systemId: key.system_id, viewer: viewerWith(key.partner_id, key.scopes) };
}
