import type { partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import { partnerOf } from "../http/authenticate.ts";
import type { CursorCipher } from "../http/cursor.ts";
import { listEndpoint } from "../http/list-endpoint.ts";
import { idPosition } from "../lists/page.ts";
import type { ReadContext } from "../lists/read-context.ts";
import { listRegions } from "./service.ts";

/**
 * The endpoints of regions. Their lists are put together for each request: they take a place among the reads that may take long.
 */
export function regionRoutes(
  { filtered }: ReadContext,
  cursors: CursorCipher,
): RouterImplementation<(typeof partnerContract)["regions"]> {
  return {
    list: listEndpoint(cursors, {
      name: "regions",
      position: idPosition,
      read: (request, _filters: object, page) => {
        const partner = partnerOf(request);
        return filtered.read(partner, (db) => listRegions(db, partner.systemId, page));
      },
    }),
  };
}
