import type { partnerContract } from "@bikeshare/contract";
import { cursorScope, readPageRequest } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import { partnerOf } from "../../http/authenticate.ts";
import { type CursorCipher, cursorPosition } from "../../http/cursor.ts";
import type { ReadContext } from "../../storage/lists/read-context.ts";
import { flowPosition, listFlows } from "./flows.ts";
import { systemSummary } from "./summary.ts";
import { forecastOfStation, typicalOfStation } from "./typical.ts";

type SumContext = Pick<ReadContext, "filtered"> & { readonly clock: () => number };

/**
 * Returns the endpoints of stations' typical days and forecasts. Each waits for its turn among the few long reads that run
 * at a time (`filtered`), and its cost is bounded.
 */
export function stationSumRoutes({
  filtered,
  clock,
}: SumContext): Pick<RouterImplementation<(typeof partnerContract)["stations"]>, "typical" | "forecast"> {
  return {
    typical: async ({ params: { id }, request }) => {
      const partner = partnerOf(request);
      const body = await filtered.read(partner, (db) => typicalOfStation({ db, clock }, partner.systemId, id));
      return { status: 200, body };
    },
    forecast: async ({ params: { id }, query, request }) => {
      const partner = partnerOf(request);
      const body = await filtered.read(partner, (db) => forecastOfStation({ db, clock }, partner.systemId, id, query));
      return { status: 200, body };
    },
  };
}

/** Returns the endpoints of flows between stations, and of the system's summary. */
export function sumRoutes(
  { filtered, clock }: SumContext,
  cursors: CursorCipher,
): RouterImplementation<Pick<typeof partnerContract, "flows" | "system">> {
  return {
    flows: {
      list: async ({ query: { limit, cursor, ...selection }, request }) => {
        const partner = partnerOf(request);
        const scope = cursorScope(partner.systemId, "flows", selection);
        const position = cursorPosition(cursors, scope, flowPosition);
        const asked = readPageRequest({ limit, cursor }, (text) => position.decode(text));
        const page = await filtered.read(partner, (db) => listFlows({ db, clock }, partner.systemId, selection, asked));
        const { next, ...body } = page;
        return { status: 200, body: { ...body, ...(next && { next_cursor: position.encode(next) }) } };
      },
    },
    system: {
      summary: async ({ query, request }) => {
        const partner = partnerOf(request);
        const body = await filtered.read(partner, (db) => systemSummary({ db, clock }, partner.systemId, query));
        return { status: 200, body };
      },
    },
  };
}
