import type { partnerContract } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { CommandContext } from "../../command-context.ts";
import { partnerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import type { CursorCipher } from "../../http/cursor.ts";
import { combineRequests, markReplay, repeatableRequest, withIdempotency } from "../../http/idempotency.ts";
import type { CallOutcome } from "../../http/idempotency/service.ts";
import { listEndpoint } from "../../http/list-endpoint.ts";
import type { Database } from "../../storage/db/database.ts";
import { jsonField, timePosition } from "../../storage/lists/page.ts";
import type { ChangeWatch } from "../changes/service.ts";
import { type CreateReservation, createReservation, createReservations } from "../fleet/create-reservation.ts";
import {
  cancelReservation,
  cancelReservations,
  extendReservation,
  type OwnedReservation,
} from "../fleet/reservation-commands.ts";
import {
  getReservation,
  listReservationChanges,
  listReservations,
  type ReservationFilters,
  type ReservationReadContext,
} from "./service.ts";

/** Returns the endpoints of a partner's reservations. */
export function reservationRoutes(
  context: CommandContext & ReservationReadContext & { readonly db: Database; readonly changes: ChangeWatch },
  cursors: CursorCipher,
): RouterImplementation<(typeof partnerContract)["reservations"]> {
  const { create, cancel } = combinedVerbs(context);
  return {
    list: listEndpoint(cursors, {
      name: "reservations",
      position: timePosition,
      visibility: (request) => ({ of: partnerOf(request).partnerId }),
      read: (request, filters: ReservationFilters, page) =>
        listReservations(context, partnerOf(request), filters, page),
      followed: {
        table: "reservations",
        watch: context.changes,
        readChanges: (request, filters, range) => listReservationChanges(context, partnerOf(request), filters, range),
      },
    }),
    get: async ({ params: { id }, request }) => {
      const reservation = await getReservation(context, partnerOf(request), id);
      if (reservation === undefined) throw serviceError("not_found", "reservation");
      return { status: 200, body: jsonBody(reservation) };
    },
    create: async ({ body, request, reply }) => {
      const answer = await create(repeatableRequest(request), { ...partnerOf(request), request: body });
      markReplay(reply, answer);
      reply.header("location", `/v1/reservations/${jsonField(answer.body, "id")}`);
      return { status: 201, body: jsonBody(answer.body) };
    },
    extend: async ({ params: { id }, body, request, reply }) => {
      const answer = await withIdempotency(context, repeatableRequest(request), async (tx) => ({
        status: 200,
        body: await extendReservation({ ...context, db: tx }, partnerOf(request), id, body.hold_minutes),
      }));
      markReplay(reply, answer);
      return { status: 200, body: jsonBody(answer.body) };
    },
    cancel: async ({ params: { id }, request }) => {
      // A repeated cancellation gets the same answer, so an idempotency key is not needed.
      const call = { ...repeatableRequest(request), key: undefined };
      const { body } = await cancel(call, { ...partnerOf(request), id });
      return { status: 200, body: jsonBody(body) };
    },
  };
}

/**
 * Returns the commands whose requests share transactions: while one transaction runs, requests gather for the next
 * (`together`). If such a transaction fails or waits too long for a lock, each of its requests runs in one of its own
 * (`alone`). See docs/decisions/city.md#requests-that-share-a-transaction.
 */
function combinedVerbs(context: CommandContext & { readonly db: Database }) {
  const create = combineRequests<CreateReservation>(context, {
    together: async (systemId, tx, calls, answered) =>
      answersWith(201, await createReservations({ ...context, db: tx, answered }, systemId, calls)),
    alone: async (_systemId, call, tx) => ({
      status: 201,
      body: await createReservation({ ...context, db: tx }, call),
    }),
  });
  const cancel = combineRequests<OwnedReservation & { readonly systemId: string }>(context, {
    together: async (systemId, tx, owned) =>
      answersWith(200, await cancelReservations({ ...context, db: tx }, systemId, owned)),
    alone: async (_systemId, { id, ...owner }, tx) => ({
      status: 200,
      body: await cancelReservation({ ...context, db: tx }, owner, id),
    }),
  });
  return { create, cancel };
}

/**
 * Converts outcomes whose results are bodies to outcomes whose results are answers with a status. Other outcomes (an
 * error, or `run-alone`) stay.
 */
function answersWith(status: number, outcomes: readonly CallOutcome<string>[]): CallOutcome[] {
  return outcomes.map((outcome) =>
    typeof outcome === "object" && "result" in outcome ? { result: { status, body: outcome.result } } : outcome,
  );
}
