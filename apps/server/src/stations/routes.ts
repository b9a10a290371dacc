import type { partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import { serviceError } from "../errors/service-error.ts";
import { jsonBody } from "../http/bind.ts";
import { callerOf, partnerOf } from "../http/caller.ts";
import type { CursorSealer } from "../http/cursor.ts";
import { readSliceRequest, writeEnvelope } from "../http/paging.ts";
import { type ReadyBody, readyBody, useReadyBody } from "../http/ready-body.ts";
import { idPosition } from "../lists/by-id.ts";
import type { ReadContext } from "../lists/context.ts";
import type { PageCache } from "../lists/page-cache.ts";
import { getStation, listStations } from "./service.ts";

/** The endpoints of stations. Everyone reads the same list and few stations change: its pages are kept ready. */
export function stationRoutes(
  context: ReadContext,
  sealer: CursorSealer,
  pages: PageCache<ReadyBody>,
): RouterImplementation<(typeof partnerContract)["stations"]> {
  return {
    list: async ({ query: { page, limit, cursor, ...filters }, request, reply }) => {
      const whose = partnerOf(request);
      const { systemId } = whose;
      const body = await pages.get(systemId, request.url, async () => {
        const name = { systemId, list: "stations", filters };
        const slice = readSliceRequest({ page, limit, cursor }, name, sealer, idPosition);
        const stations = await listStations(context, whose, filters, slice);
        return readyBody(writeEnvelope(slice, stations, name, sealer, idPosition));
      });
      return { status: 200, body: useReadyBody(reply, body) };
    },
    get: async ({ params: { id }, request }) => {
      const station = await getStation(context, callerOf(request).key.system_id, id);
      if (station === undefined) throw serviceError("not_found", "station");
      return { status: 200, body: jsonBody(station) };
    },
  };
}
