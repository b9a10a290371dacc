import type { partnerContract } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import { callerOf, partnerOf } from "../http/authenticate.ts";
import { jsonBody } from "../http/bind.ts";
import type { CursorCipher } from "../http/cursor.ts";
import { listEndpoint } from "../http/list-endpoint.ts";
import { type EventViewer, viewerWith } from "./event.rules.ts";
import { type EventContext, type EventFilters, eventPosition, getEvent, listEvents } from "./service.ts";

/** The endpoints of events. */
export function eventRoutes(
  context: EventContext,
  cursors: CursorCipher,
): RouterImplementation<(typeof partnerContract)["events"]> {
  return {
    list: listEndpoint(cursors, {
      name: "events",
      position: eventPosition,
      visibility: (request) => ({ sees: viewerOf(request).viewer }),
      read: (request, filters: EventFilters, page) => {
        const { systemId, viewer } = viewerOf(request);
        return listEvents(context, systemId, viewer, filters, page);
      },
    }),
    get: async ({ params: { id }, request }) => {
      const { systemId, viewer } = viewerOf(request);
      const event = await getEvent(context, systemId, viewer, id);
      if (event === undefined) throw serviceError("not_found", "event");
      return { status: 200, body: jsonBody(event) };
    },
  };
}

/** Returns the system of a request, and what its key may see there. */
function viewerOf(request: FastifyRequest): { readonly systemId: string; readonly viewer: EventViewer } {
  const { systemId, partnerId } = partnerOf(request);
  return { systemId, viewer: viewerWith(partnerId, callerOf(request).key.scopes) };
}
