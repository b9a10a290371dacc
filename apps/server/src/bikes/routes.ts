import type { partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import { serviceError } from "../errors/service-error.ts";
import { jsonBody } from "../http/bind.ts";
import { callerOf, partnerOf } from "../http/caller.ts";
import type { CursorSealer } from "../http/cursor.ts";
import { readSliceRequest, writeEnvelope } from "../http/paging.ts";
import { idPosition } from "../lists/by-id.ts";
import type { ReadContext } from "../lists/context.ts";
import { getBike, listBikes } from "./service.ts";

/** The endpoints of bikes. */
export function bikeRoutes(
  context: ReadContext,
  sealer: CursorSealer,
): RouterImplementation<(typeof partnerContract)["bikes"]> {
  return {
    list: async ({ query: { page, limit, cursor, ...filters }, request }) => {
      const whose = partnerOf(request);
      const { systemId } = whose;
      const name = { systemId, list: "bikes", filters };
      const slice = readSliceRequest({ page, limit, cursor }, name, sealer, idPosition);
      const bikes = await listBikes(context, whose, filters, slice);
      return { status: 200, body: jsonBody(writeEnvelope(slice, bikes, name, sealer, idPosition)) };
    },
    get: async ({ params: { id }, request }) => {
      const bike = await getBike(context, callerOf(request).key.system_id, id);
      if (bike === undefined) throw serviceError("not_found", "bike");
      return { status: 200, body: jsonBody(bike) };
    },
  };
}
