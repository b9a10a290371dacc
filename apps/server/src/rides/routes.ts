import type { partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import { serviceError } from "../errors/service-error.ts";
import { jsonBody } from "../http/bind.ts";
import { callerOf, partnerOf } from "../http/caller.ts";
import type { CursorSealer } from "../http/cursor.ts";
import { readSliceRequest, writeEnvelope } from "../http/paging.ts";
import { getRide, listRides, type RideContext, ridePosition } from "./service.ts";

/** The endpoints of rides. */
export function rideRoutes(
  context: RideContext,
  sealer: CursorSealer,
): RouterImplementation<(typeof partnerContract)["rides"]> {
  return {
    list: async ({ query: { page, limit, cursor, ...filters }, request }) => {
      const whose = partnerOf(request);
      const { systemId } = whose;
      const name = { systemId, list: "rides", filters };
      const slice = readSliceRequest({ page, limit, cursor }, name, sealer, ridePosition);
      const rides = await listRides(context, whose, filters, slice);
      return { status: 200, body: jsonBody(writeEnvelope(slice, rides, name, sealer, ridePosition)) };
    },
    get: async ({ params: { id }, request }) => {
      const ride = await getRide(context, callerOf(request).key.system_id, id);
      if (ride === undefined) throw serviceError("not_found", "ride");
      return { status: 200, body: jsonBody(ride) };
    },
  };
}
