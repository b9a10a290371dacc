import type { partnerContract } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { CommandContext } from "../command-context.ts";
import type { Database } from "../db/database.ts";
import { createReservation } from "../fleet/create-reservation.ts";
import { cancelReservation, extendReservation } from "../fleet/reservation-commands.ts";
import { partnerOf } from "../http/authenticate.ts";
import { jsonBody } from "../http/bind.ts";
import type { CursorCipher } from "../http/cursor.ts";
import { markReplay, repeatableRequest, withIdempotency } from "../http/idempotency.ts";
import { listEndpoint } from "../http/list-endpoint.ts";
import { jsonField, timePosition } from "../lists/page.ts";
import { getReservation, listReservations, type ReservationFilters, type ReservationReadContext } from "./service.ts";

/** The endpoints of reservations. */
export function reservationRoutes(
  context: CommandContext & ReservationReadContext & { readonly db: Database },
  cursors: CursorCipher,
): RouterImplementation<(typeof partnerContract)["reservations"]> {
  return {
    list: listEndpoint(cursors, {
      name: "reservations",
      position: timePosition,
      visibility: (request) => ({ of: partnerOf(request).partnerId }),
      read: (request, filters: ReservationFilters, page) =>
        listReservations(context, partnerOf(request), filters, page),
    }),
    get: async ({ params: { id }, request }) => {
      const reservation = await getReservation(context, partnerOf(request), id);
      if (reservation === undefined) throw serviceError("not_found", "reservation");
      return { status: 200, body: jsonBody(reservation) };
    },
    create: async ({ body, request, reply }) => {
      const answer = await withIdempotency(context, repeatableRequest(request), async (tx) => ({
        status: 201,
        body: await createReservation({ ...context, db: tx }, { ...partnerOf(request), request: body }),
      }));
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
    cancel: async ({ params: { id }, request }) => ({
      status: 200,
      body: jsonBody(await cancelReservation(context, partnerOf(request), id)),
    }),
  };
}
