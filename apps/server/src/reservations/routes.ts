import type { partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import type { CommandContext } from "../command-context.ts";
import type { Database } from "../db/database.ts";
import { serviceError } from "../errors/service-error.ts";
import { createReservation } from "../fleet/create-reservation.ts";
import { cancelReservation, extendReservation, type ReservationOwner } from "../fleet/reservation-commands.ts";
import { jsonBody } from "../http/bind.ts";
import { callerOf } from "../http/caller.ts";
import type { CursorSealer } from "../http/cursor.ts";
import { markReplay, repeatableRequest, withIdempotency } from "../http/idempotency.ts";
import { readSliceRequest, writeEnvelope } from "../http/paging.ts";
import { jsonField } from "../lists/cut.ts";
import { getReservation, listReservations, reservationPosition, type ReservationReadContext } from "./service.ts";

/** The endpoints of reservations. */
export function reservationRoutes(
  context: CommandContext & ReservationReadContext & { readonly db: Database },
  sealer: CursorSealer,
): RouterImplementation<(typeof partnerContract)["reservations"]> {
  return {
    list: async ({ query: { page, limit, cursor, ...filters }, request }) => {
      const owner = ownerOf(request);
      // Each partner has a list of its own, with cursors of its own.
      const name = { systemId: owner.systemId, list: "reservations", filters: { ...filters, of: owner.partnerId } };
      const slice = readSliceRequest({ page, limit, cursor }, name, sealer, reservationPosition);
      const reservations = await listReservations(context, owner, filters, slice);
      return { status: 200, body: jsonBody(writeEnvelope(slice, reservations, name, sealer, reservationPosition)) };
    },
    get: async ({ params: { id }, request }) => {
      const reservation = await getReservation(context, ownerOf(request), id);
      if (reservation === undefined) throw serviceError("not_found", "reservation");
      return { status: 200, body: jsonBody(reservation) };
    },
    create: async ({ body, request, reply }) => {
      const answer = await withIdempotency(context, repeatableRequest(request), async (tx) => ({
        status: 201,
        body: await createReservation({ ...context, db: tx }, { ...ownerOf(request), request: body }),
      }));
      markReplay(reply, answer);
      reply.header("location", `/v1/reservations/${jsonField(answer.body, "id")}`);
      return { status: 201, body: jsonBody(answer.body) };
    },
    extend: async ({ params: { id }, body, request, reply }) => {
      const answer = await withIdempotency(context, repeatableRequest(request), async (tx) => ({
        status: 200,
        body: await extendReservation({ ...context, db: tx }, ownerOf(request), id, body.hold_minutes),
      }));
      markReplay(reply, answer);
      return { status: 200, body: jsonBody(answer.body) };
    },
    cancel: async ({ params: { id }, request }) => ({
      status: 200,
      body: jsonBody(await cancelReservation(context, ownerOf(request), id)),
    }),
  };
}

function ownerOf(request: FastifyRequest): ReservationOwner {
  const { key } = callerOf(request);
  // The door lets no key without a partner in here.
  if (key.partner_id === null) throw new Error(`${request.url} was reached with a key that has no partner`);
  return { systemId: key.system_id, partnerId: key.partner_id };
}
