import type { partnerContract } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import { callerOf, partnerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import type { CursorCipher } from "../../http/cursor.ts";
import { pageReader } from "../../http/list-endpoint.ts";
import { type ReadyBody, readyBody, useReadyBody } from "../../http/response-body.ts";
import type { PageCache } from "../../storage/background/page-cache.ts";
import { idPosition } from "../../storage/lists/page.ts";
import type { ReadContext } from "../../storage/lists/read-context.ts";
import type { ChangeWatch } from "../changes/service.ts";
import { getStation, listStationChanges, listStations, type StationFilters } from "./service.ts";

/** The endpoints of stations. Everyone reads the same list and few stations change: its pages are kept ready. */
export function stationRoutes(
  context: ReadContext & { readonly changes: ChangeWatch },
  cursors: CursorCipher,
  pages: PageCache<ReadyBody>,
): Pick<RouterImplementation<(typeof partnerContract)["stations"]>, "list" | "get"> {
  const readPage = pageReader(cursors, {
    name: "stations",
    position: idPosition,
    read: (request, filters: StationFilters, page) => listStations(context, partnerOf(request), filters, page),
    followed: {
      table: "stations",
      watch: context.changes,
      readChanges: (request, filters, range) => listStationChanges(context, partnerOf(request), filters, range),
    },
  });
  return {
    list: {
      hooks: {
        // A page that is ready is sent as soon as its caller is authorized: the same URL was read and found right before.
        onRequest: (request, reply, done) => {
          const body = pages.find(partnerOf(request).systemId, request.url);
          if (body === undefined) done();
          else void reply.send(useReadyBody(reply, body));
        },
      },
      handler: async ({ query, request, reply }) => {
        const { systemId } = partnerOf(request);
        const body = await pages.get(systemId, request.url, async () => readyBody(await readPage({ query, request })));
        return { status: 200, body: useReadyBody(reply, body) };
      },
    },
    get: async ({ params: { id }, request }) => {
      const station = await getStation(context, callerOf(request).key.system_id, id);
      if (station === undefined) throw serviceError("not_found", "station");
      return { status: 200, body: jsonBody(station) };
    },
  };
}
