import type { OutgoingHttpHeaders } from "node:http";
import type { consoleContract } from "@bikeshare/contract/console";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyReply } from "fastify";
import { deliveriesKey } from "../live/live-feed.ts";
import type { LiveEvent } from "../live/live-hub.ts";
import { sessionOf } from "../sessions/service.ts";
import { requireEndpointOrRemoved } from "../webhooks/endpoints/endpoint-context.ts";
import { consoleSession, partnerCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";

type Routes = RouterImplementation<typeof consoleContract>;

/** Proxies close what is silent for a minute; the session is looked at as often. */
const HEARTBEAT_INTERVAL_MS = 15_000;
/** Bytes that may wait for a slow reader. Beyond them the stream ends, and the page connects again. */
const MAX_WAITING_BYTES = 64 * 1024;

/** Changes as they happen. */
export function liveRoutes({ db, clock, live }: ConsoleContext): Routes["live"] {
  return {
    partner: async ({ request, reply }) => {
      const { systemId, partnerId, person } = partnerCaller(request);
      const { token } = consoleSession(request);
      const endpoint = await requireEndpointOrRemoved(db, { systemId, partnerId });
      const stream = openStream(reply as unknown as FastifyReply);
      const lastId = request.headers["last-event-id"];
      const viewer = { personId: person.id, send: stream.send, end: stream.end };
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
        const session = await sessionOf(db, token, clock());
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

/** A response that stays open, in the form of server-sent events. */
function openStream(reply: FastifyReply) {
  const { raw } = reply;
  const waiting: string[] = [];
  let hasBegun = false;
  const write = (text: string): boolean => {
    if (!hasBegun) waiting.push(text);
    else if (!raw.writableEnded) raw.write(text);
    return raw.writableLength <= MAX_WAITING_BYTES;
  };
  return {
    /** Only now: what fails before is answered as any error. */
    begin: () => {
      reply.hijack();
      hasBegun = true;
      raw.writeHead(200, {
        ...(reply.getHeaders() as OutgoingHttpHeaders),
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        // Proxies that gather responses would hold events back.
        "x-accel-buffering": "no",
      });
      raw.write(`retry: 2000\n\n${waiting.join("")}`);
    },
    send: ({ id, name, data }: LiveEvent) => write(`id: ${id}\nevent: ${name}\ndata: ${data}\n\n`),
    heartbeat: () => write(": still here\n\n"),
    end: () => void raw.end(),
    onClosed: (done: () => void) => raw.on("close", done),
  };
}
