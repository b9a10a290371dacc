import {
  type DeliveryAttempt,
  type DeliveryDetail as DeliveryDetailJson,
  type DeliveryRecord,
  MAX_RESPONSE_EXCERPT,
  MAX_SHOWN_ATTEMPTS,
  type partnerContract,
} from "@bikeshare/contract";
import { cursorScope, readPageRequest } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import type { CommandContext } from "../../command-context.ts";
import { callerOf, partnerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import { type CursorCipher, cursorPosition } from "../../http/cursor.ts";
import { markReplay, repeatableRequest, withIdempotency } from "../../http/idempotency.ts";
import type { Database } from "../../storage/db/database.ts";
import type { FilteredReads } from "../../storage/lists/read-context.ts";
import {
  type DeliveryDetail,
  deliveryPosition,
  type DeliveryView,
  listPartnersDeliveries,
  type ReadContext,
  showDelivery,
} from "./deliveries.ts";
import { filterOf } from "./delivery-filter.rules.ts";
import { type Exchange, excerptOf, pageHints } from "./delivery-view.ts";
import { adviceOn } from "./failure-advice.rules.ts";
import { redeliver } from "./resend.ts";

interface DeliveryRoutesContext extends CommandContext {
  readonly db: Database;
  readonly filtered: FilteredReads;
}

/** Routes with which a partner's programs list its deliveries, read their attempts, and send them again. */
export function partnerDeliveryRoutes(
  context: DeliveryRoutesContext,
  cursors: CursorCipher,
): RouterImplementation<(typeof partnerContract)["deliveries"]> {
  const { clock, filtered } = context;
  // Reads of deliveries use separate connections and are limited for each partner (`FilteredReads`).
  const searching = (request: FastifyRequest): ReadContext => {
    const reader = { ...partnerOf(request), signal: request.signal };
    return { db: filtered.databaseFor(reader), clock, hints: pageHints };
  };
  return {
    list: async ({ query: { limit, cursor, endpoint_id: endpointRef, ...filters }, request }) => {
      const { systemId, partnerId } = partnerOf(request);
      const selected = { ...filters, partner_id: partnerId, endpoint_id: endpointRef };
      const position = cursorPosition(cursors, cursorScope(systemId, "deliveries", selected), deliveryPosition);
      const page = readPageRequest({ limit, cursor }, (text) => position.decode(text));
      const { deliveries, next, searchedTo } = await listPartnersDeliveries(searching(request), {
        systemId,
        partnerId,
        endpointRef,
        ...filterOf(filters),
        limit: page.limit,
        after: page.kind === "cursor" ? page.after : undefined,
      });
      return {
        status: 200,
        body: {
          data: deliveries.map(recordOf),
          ...(next && { next_cursor: position.encode(next) }),
          ...(searchedTo && { searched_to: searchedTo.toISOString() }),
        },
      };
    },
    get: async ({ params: { id }, request }) => {
      const detail = await showDelivery(searching(request), partnerOf(request), id, MAX_SHOWN_ATTEMPTS);
      return { status: 200, body: detailOf(detail) };
    },
    resend: async ({ params: { id }, request, reply }) => {
      const acting = { ...context, actor: `key:${callerOf(request).key.id}` };
      // The endpoint takes no body, so a repeated request counts as the same request whatever body it has.
      const asked = { ...repeatableRequest(request), body: {} };
      const answer = await withIdempotency(context, asked, async (tx) => ({
        status: 200,
        body: JSON.stringify(await redeliver({ ...acting, db: tx }, partnerOf(request), id)),
      }));
      markReplay(reply, answer);
      return { status: 200, body: jsonBody(answer.body) };
    },
  };
}

function recordOf(view: DeliveryView): DeliveryRecord {
  return {
    id: view.id,
    endpoint_id: view.endpoint_id,
    endpoint_name: view.endpoint_name,
    event: view.event,
    event_id: view.event_id,
    resource_id: view.resource_id,
    created_at: view.created_at.toISOString(),
    status: view.status,
    is_failing: view.status === "pending" && view.latest_failure !== null,
    attempts: view.attempts,
    code: view.latest_code,
    failure: view.latest_failure,
    next_attempt_at: view.next_attempt_at?.toISOString() ?? null,
    finished_at: view.finished_at?.toISOString() ?? null,
    explanation: view.explanation,
  };
}

function detailOf(detail: DeliveryDetail): DeliveryDetailJson {
  return { ...recordOf(detail), attempt_log: detail.exchanges.map(attemptOf) };
}

/** Returns an attempt without address, headers and request: these may hold secrets, or need further scopes. */
function attemptOf({ answer, timings, started_at, next_attempt_at, ...exchange }: Exchange): DeliveryAttempt {
  const { number, outcome, summary, failure, detail } = exchange;
  const code = answer?.status ?? null;
  const { meaning = null, action = null } = adviceOn({ outcome, failure, status: code }) ?? {};
  const text = answer === null ? "" : excerptOf(textOf(answer.body), MAX_RESPONSE_EXCERPT);
  return {
    number,
    started_at: started_at.toISOString(),
    outcome,
    summary,
    failure,
    detail,
    meaning,
    action,
    code,
    response_excerpt: text === "" ? null : text,
    duration_ms: timings.total,
    next_attempt_at: next_attempt_at?.toISOString() ?? null,
  };
}

/** Returns a body as text. Bytes that are not UTF-8 become replacement characters. */
function textOf({ encoding, text }: NonNullable<Exchange["answer"]>["body"]): string {
  return encoding === "utf-8" ? text : new TextDecoder().decode(Buffer.from(text, encoding));
}
