import type { Readable } from "node:stream";
import type { ResendSelection } from "@bikeshare/contract/console";
import { cursorScope, readPageRequest, serviceError } from "@bikeshare/rules";
import type { FastifyReply } from "fastify";
import { stepBounds } from "../city/history/summary.ts";
import { cursorPosition } from "../http/cursor.ts";
import type { EndpointScope, PartnerScope } from "../webhooks/endpoints/endpoint-context.ts";
import {
  deliveryPosition,
  findFailingBeside,
  listDeliveries,
  listedEndpoints,
  type ReadContext,
  showDelivery,
} from "../webhooks/log/deliveries.ts";
import { filterOf } from "../webhooks/log/delivery-filter.rules.ts";
import { curlOf, deliveriesCsv, signedCurlOf } from "../webhooks/log/delivery-texts.ts";
import { pageHints } from "../webhooks/log/delivery-view.ts";
import { deliveriesOverTime } from "../webhooks/log/over-time.ts";
import {
  cancelResend,
  countResend,
  redeliver,
  type ResendChoice,
  showResend,
  startResend,
} from "../webhooks/log/resend.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller, consoleSession, partnerCaller } from "./authorize.ts";
import type { ConsoleContext, LongReads, LongRequest } from "./context.ts";
import { deliveryDetailJson, deliveryJson } from "./delivery-json.ts";
import { deliveriesKey, openEventStream } from "./live/live-hub.ts";
import { sessionStillOf } from "./session-cookie.ts";

/*
 * Routes of a partner's deliveries: the lists, one delivery, and an export as a file; resends of many deliveries, by the
 * partner or the operator; and the stream of changes for open pages.
 */

/** Routes with which a partner's people read, export and resend its deliveries. */
export function deliveryRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["deliveries"] {
  const { db, clock } = context;
  // `hints`: what explanations of a delivery advise the readers of pages to do.
  const reading: ReadContext = { db, clock, hints: pageHints };
  // For statements that may take long: a partner has one such read at a time (`LongReads`).
  const searching = (request: LongRequest): ReadContext => ({ ...reading, db: longReads.databaseFor(request) });
  return {
    list: async ({ query: { limit, cursor, endpoint_id: endpointRef, ...filters }, request }) => {
      const scope = { ...scopeOf(request), endpointRef };
      const selected = { ...filters, partner_id: scope.partnerId, endpoint_id: endpointRef };
      const selection = cursorScope(scope.systemId, "console.deliveries", selected);
      const position = cursorPosition(context.cursorCipher, selection, deliveryPosition);
      const page = readPageRequest({ limit, cursor }, (text) => position.decode(text));
      const after = page.kind === "cursor" ? page.after : undefined;
      const found = await listDeliveries(searching(request), {
        ...scope,
        ...filterOf(filters),
        after,
        limit: page.limit,
      });
      return {
        status: 200,
        body: {
          data: found.deliveries.map(deliveryJson),
          ...(found.next && { next_cursor: position.encode(found.next) }),
          ...(found.searchedTo && { searched_to: found.searchedTo }),
        },
      };
    },
    get: async ({ params: { delivery_id: id }, request }) => {
      const scope = scopeOf(request);
      const search = searching(request);
      const detail = await showDelivery(search, scope, id);
      // The nearest older and newer deliveries to the same endpoint that are failing or have failed. The page leads to
      // them.
      const beside = await findFailingBeside(search, scope.systemId, detail);
      return { status: 200, body: deliveryDetailJson(detail, beside) };
    },
    ...sendAgainRoutes(context, reading),
    ...exportRoute(searching),
    ...overTimeRoute(context, searching),
  };
}

/** Routes that send one delivery again, or give it as a command to send. */
function sendAgainRoutes(
  context: ConsoleContext,
  reading: ReadContext,
): Pick<ConsoleRoutes["deliveries"], "resend" | "curl" | "signedCurl"> {
  return {
    resend: async ({ params: { delivery_id: id }, request }) => ({
      status: 200,
      body: await redeliver({ ...context, actor: partnerCaller(request).actor }, scopeOf(request), id),
    }),
    curl: async ({ params: { delivery_id: deliveryId }, query: { to = "endpoint" }, request }) => ({
      status: 200,
      body: { command: await curlOf(reading, { ...scopeOf(request), deliveryId, to }) },
    }),
    signedCurl: async ({ params: { delivery_id: deliveryId }, body: { to, attempt }, request }) => {
      const signing = { ...context, actor: partnerCaller(request).actor, cipher: context.webhookCipher };
      const input = { ...scopeOf(request), deliveryId, to, attempt };
      return { status: 200, body: { command: await signedCurlOf(signing, input) } };
    },
  };
}

function overTimeRoute(
  context: ConsoleContext,
  searching: (request: LongRequest) => ReadContext,
): Pick<ConsoleRoutes["deliveries"], "overTime"> {
  return {
    overTime: async ({ query: { endpoint_id: endpointRef, ...query }, request }) => {
      const scope = { ...scopeOf(request), endpointRef };
      const { timeZone, bounds } = await stepBounds(context, scope.systemId, query);
      const found = await deliveriesOverTime(searching(request), scope, bounds);
      return { status: 200, body: { time_zone: timeZone, ...found } };
    },
  };
}

/** Returns the route that exports a list as a file. */
function exportRoute(searching: (request: LongRequest) => ReadContext): Pick<ConsoleRoutes["deliveries"], "export"> {
  const downloads = createDownloads();
  return {
    export: async ({ query, request, reply }) => {
      const scope = scopeOf(request);
      const csv: unknown = await downloads.begin(scope, async () => {
        const input = { ...scope, endpointRef: query.endpoint_id, ...filterOf(query) };
        // Checks the request before the response begins: an error cannot be reported afterwards.
        await listDeliveries(searching(request), { ...input, limit: 1 });
        return deliveriesCsv(searching(request), input);
      });
      reply.header("content-type", "text/csv; charset=utf-8");
      reply.header("content-disposition", 'attachment; filename="deliveries.csv"');
      // Fastify sends a stream as it comes.
      return { status: 200, body: csv as string };
    },
  };
}

function scopeOf(request: LongRequest) {
  const { systemId, partnerId } = partnerCaller(request);
  return { systemId, partnerId };
}

/** Seconds after which another download may be tried: about the duration of a whole file. */
const RETRY_SECONDS = 5;

/** Limits this process's downloads to one file at a time for each partner. */
interface Downloads {
  /** @throws ServiceError while the partner downloads another file */
  begin(whose: PartnerScope, make: () => Promise<Readable>): Promise<Readable>;
}

function createDownloads(): Downloads {
  const running = new Set<string>();
  return {
    async begin({ systemId, partnerId }, make) {
      const reader = `${systemId}\n${partnerId}`;
      if (running.has(reader)) throw serviceError("rate_limited", "exports", { retryAfterSeconds: RETRY_SECONDS });
      running.add(reader);
      try {
        const file = await make();
        return file.once("close", () => running.delete(reader));
      } catch (error) {
        running.delete(reader);
        throw error;
      }
    },
  };
}

interface ResendCall {
  /** `resend_id` is in the paths of `get` and `cancel` alone. */
  readonly params: { readonly partner_id: string; readonly resend_id?: string };
  readonly query: { readonly endpoint_id?: string | undefined };
  readonly request: LongRequest;
}

interface ChoosingCall extends ResendCall {
  readonly body: ResendSelection;
}

/** The person who sends deliveries again, and the deliveries' owner. */
interface Resender {
  readonly actor: string;
  readonly scope: EndpointScope;
}

/** Routes with which a partner's admins resend its deliveries in bulk. */
export function resendRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["resends"] {
  return routesFor(context, longReads, ({ request, query }) => {
    const { actor, systemId, partnerId } = partnerCaller(request);
    return { actor, scope: { systemId, partnerId, endpointRef: query.endpoint_id } };
  });
}

/** Routes with which the operator's admins resend a partner's deliveries in bulk. */
export function systemResendRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["systemResends"] {
  return routesFor(context, longReads, ({ request, params, query }) => {
    const { actor, systemId } = consoleCaller(request);
    return { actor, scope: { systemId, partnerId: params.partner_id, endpointRef: query.endpoint_id } };
  });
}

/** @param resenderOf returns who makes a call, and whose deliveries it is about */
function routesFor(context: ConsoleContext, longReads: LongReads, resenderOf: (call: ResendCall) => Resender) {
  return {
    count: async (call: ChoosingCall) => {
      const { actor, scope } = resenderOf(call);
      const count = () => countResend({ ...context, actor }, scope, choiceOf(call.body));
      return { status: 200 as const, body: { total: await longReads.hold(call.request, count) } };
    },
    create: async (call: ChoosingCall) => {
      const { actor, scope } = resenderOf(call);
      const start = () => startResend({ ...context, actor }, scope, choiceOf(call.body));
      return { status: 200 as const, body: await longReads.hold(call.request, start) };
    },
    get: async (call: ResendCall) => ({
      status: 200 as const,
      body: await showResend(context, resenderOf(call).scope, call.params.resend_id ?? ""),
    }),
    cancel: async (call: ResendCall) => {
      const { actor, scope } = resenderOf(call);
      return {
        status: 200 as const,
        body: await cancelResend({ ...context, actor }, scope, call.params.resend_id ?? ""),
      };
    },
  };
}

function choiceOf({ ids, filters = {} }: ResendSelection): ResendChoice {
  return ids === undefined ? { filter: filterOf(filters) } : { ids };
}

/**
 * Interval of heartbeats, and of the check of the session. Too low: sends more. Too high: proxies close connections
 * that are silent for a minute.
 */
const HEARTBEAT_INTERVAL_MS = 15_000;

/** Routes that stream changes of deliveries as they happen. */
export function liveRoutes({ db, clock, live }: ConsoleContext): ConsoleRoutes["live"] {
  return {
    partner: async ({ query, request, reply }) => {
      const { systemId, partnerId, person } = partnerCaller(request);
      const found = consoleSession(request);
      const endpoints = await listedEndpoints(db, { systemId, partnerId, endpointRef: query.endpoint_id });
      // Buffers until `begin`: `add` may send missed events, or reject, which must still be answered as an error.
      const stream = openEventStream(reply as unknown as FastifyReply);
      const lastId = request.headers["last-event-id"];
      const viewer = { ...stream, personId: person.id };
      const leave = live.hub.add(
        deliveriesKey(
          systemId,
          endpoints.map(({ id }) => id),
        ),
        viewer,
        typeof lastId === "string" ? lastId : undefined,
      );
      stream.begin();
      const isStillMember = async () => {
        const session = await sessionStillOf(found, db, clock());
        return session?.memberships.some(
          (one) => one.system_id === systemId && (one.partner_id === partnerId || one.partner_id === null),
        );
      };
      const heartbeat = setInterval(() => {
        isStillMember().then(
          (isMember) => (isMember ? stream.heartbeat() : leave()),
          // The session could not be checked; the next heartbeat checks it again.
          () => undefined,
        );
      }, HEARTBEAT_INTERVAL_MS);
      stream.onClosed(() => {
        clearInterval(heartbeat);
        leave();
      });
      // The stream has sent the response already: this one is ignored.
      return { status: 200, body: "" };
    },
  };
}
