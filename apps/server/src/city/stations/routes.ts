import type { partnerContract } from "@bikeshare/contract";
import { type PageRequest, serviceError } from "@bikeshare/rules";
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
import { stationAt, stationHistory, stationsAt } from "../history/station-history.ts";
import { getStation, listStationChanges, listStations, type StationFilters } from "./service.ts";

type StationContext = ReadContext & { readonly changes: ChangeWatch; readonly clock: () => number };
type StationRoutes = RouterImplementation<(typeof partnerContract)["stations"]>;

/**
 * Returns the endpoints of stations. The list's pages are cached, because everyone reads the same list and few stations
 * change.
 */
export function stationRoutes(
  context: StationContext,
  cursors: CursorCipher,
  pages: PageCache<ReadyBody>,
): Pick<StationRoutes, "list" | "get" | "history"> {
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
  const readPageAt = pageReader(cursors, {
    name: "stations",
    position: idPosition,
    read: (request, filters: StationFilters & { readonly at: string }, page: PageRequest<string>) =>
      stationsAt(context, partnerOf(request), withoutFollowing(filters), page),
  });
  return {
    list: {
      hooks: {
        // A cached page is sent as soon as its caller is authorized. Its URL needs no validation, because the same URL was
        // valid when the page was cached.
        onRequest: (request, reply, done) => {
          const body = pages.find(partnerOf(request).systemId, request.url);
          if (body === undefined) done();
          else void reply.send(useReadyBody(reply, body));
        },
      },
      handler: async ({ query, request, reply }) => {
        const { systemId } = partnerOf(request);
        const { at } = query;
        if (at !== undefined)
          return { status: 200, body: jsonBody(await readPageAt({ query: { ...query, at }, request })) };
        const body = await pages.get(systemId, request.url, async () => readyBody(await readPage({ query, request })));
        return { status: 200, body: useReadyBody(reply, body) };
      },
    },
    ...stationRoutesOfOne(context),
  };
}

/** Returns the endpoints of one station. */
function stationRoutesOfOne(context: StationContext): Pick<StationRoutes, "get" | "history"> {
  return {
    get: async ({ params: { id }, query: { at }, request }) => {
      const station =
        // The present station takes one look-up, for any partner. Reads of the history are limited for each partner.
        at === undefined
          ? await getStation(context, callerOf(request).key.system_id, id)
          : await stationAt(context, partnerOf(request), id, at);
      if (station === undefined)
        throw at === undefined ? serviceError("not_found", "station") : serviceError("not_found", "stationAt", { at });
      return { status: 200, body: jsonBody(station) };
    },
    history: async ({ params: { id }, query, request }) => {
      const history = await stationHistory(context, partnerOf(request), id, query);
      if (history === undefined) throw serviceError("not_found", "station");
      return { status: 200, body: history };
    },
  };
}

/** @throws ServiceError `invalid_parameter` for a parameter that follows changes: a list at an instant has none */
function withoutFollowing<Filters extends object>(filters: Filters): Filters {
  for (const name of ["updated_since", "changes_since"] as const)
    // `Reflect.get`, because not every type of filters has these parameters.
    if (Reflect.get(filters, name) !== undefined) throw serviceError("invalid_parameter", "atAndFollowing", { name });
  return filters;
}
