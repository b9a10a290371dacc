import type { partnerContract } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import { callerOf, partnerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import type { CursorCipher } from "../../http/cursor.ts";
import { listEndpoint } from "../../http/list-endpoint.ts";
import { idPosition } from "../../storage/lists/page.ts";
import type { ReadContext } from "../../storage/lists/read-context.ts";
import type { ChangeWatch } from "../changes/service.ts";
import { type BikeFilters, getBike, listBikeChanges, listBikes } from "./service.ts";

/** The endpoints of bikes. */
export function bikeRoutes(
  context: ReadContext & { readonly changes: ChangeWatch },
  cursors: CursorCipher,
): RouterImplementation<(typeof partnerContract)["bikes"]> {
  return {
    list: listEndpoint(cursors, {
      name: "bikes",
      position: idPosition,
      read: (request, filters: BikeFilters, page) => listBikes(context, partnerOf(request), filters, page),
      // Clients may follow the list: read its changes since a checkpoint.
      followed: {
        table: "bikes",
        watch: context.changes,
        readChanges: (request, filters, range) => listBikeChanges(context, partnerOf(request), filters, range),
      },
    }),
    get: async ({ params: { id }, request }) => {
      const bike = await getBike(context, callerOf(request).key.system_id, id);
      if (bike === undefined) throw serviceError("not_found", "bike");
      return { status: 200, body: jsonBody(bike) };
    },
  };
}
