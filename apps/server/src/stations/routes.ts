import type { partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";

import { ApiError } from "../http/api-error.ts";
import { wireBody } from "../http/bind.ts";
import { callerOf } from "../http/caller.ts";
import type { CursorSealer } from "../http/cursor.ts";
import { readSliceRequest, writeEnvelope } from "../http/paging.ts";
import type { ReadContext } from "../lists/context.ts";
import { idPosition } from "../lists/by-id.ts";
import { getStation, listStations } from "./service.ts";

/** The endpoints of stations. */
export function stationRoutes(
  context: ReadContext,
  sealer: CursorSealer,
): RouterImplementation<(typeof partnerContract)["stations"]> {
  return {
    list: async ({ query: { page, limit, cursor, ...filters }, request }) => {
      const systemId = callerOf(request).key.system_id;
      const name = { systemId, list: "stations", filters };
      const slice = readSliceRequest({ page, limit, cursor }, name, sealer, idPosition);
      const stations = await listStations(context, systemId, filters, slice);
      return { status: 200, body: wireBody(writeEnvelope(slice, stations, name, sealer, idPosition)) };
    },
    get: async ({ params: { id }, request }) => {
      const station = await getStation(context, callerOf(request).key.system_id, id);
      if (station === undefined) throw new ApiError("not_found", "There is no station with this id.");
      return { status: 200, body: wireBody(station) };
    },
  };
}
