import type { FastifyReply } from "fastify";
import { requireEndpointOrRemoved } from "../webhooks/endpoints/endpoint-context.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleSession, partnerCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import { deliveriesKey, openEventStream } from "./live/live-hub.ts";
import { sessionStillOf } from "./session-cookie.ts";

type Routes = ConsoleRoutes;

/**
 * Interval of heartbeats, and of the check of the session. Too low: sends more. Too high: proxies close connections
 * that are silent for a minute.
 */
const HEARTBEAT_INTERVAL_MS = 15_000;

/** Changes as they happen. */
export function liveRoutes({ db, clock, live }: ConsoleContext): Routes["live"] {
  return {
    partner: async ({ query, request, reply }) => {
      const { systemId, partnerId, person } = partnerCaller(request);
      const found = consoleSession(request);
      const endpoint = await requireEndpointOrRemoved(db, { systemId, partnerId, endpointRef: query.endpoint_id });
      const stream = openEventStream(reply as unknown as FastifyReply);
      const lastId = request.headers["last-event-id"];
      const viewer = { ...stream, personId: person.id };
      const leave = live.hub.add(
        deliveriesKey(systemId, endpoint.id),
        viewer,
        typeof lastId === "string" ? lastId : undefined,
      );
      stream.begin();
      const heartbeat = setInterval(() => {
        isStillMember().then(
          (isMember) => (isMember ? stream.heartbeat() : leave()),
          // Whether the session goes on cannot be known now: the next heartbeat asks again.
          () => undefined,
        );
      }, HEARTBEAT_INTERVAL_MS);
      const isStillMember = async () => {
        const session = await sessionStillOf(found, db, clock());
        return session?.memberships.some(
          (one) => one.system_id === systemId && (one.partner_id === partnerId || one.partner_id === null),
        );
      };
      stream.onClosed(() => {
        clearInterval(heartbeat);
        leave();
      });
      return { status: 200, body: "" };
    },
  };
}
