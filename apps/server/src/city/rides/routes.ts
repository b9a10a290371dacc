import type { partnerContract } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import { callerOf, partnerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import type { CursorCipher } from "../../http/cursor.ts";
import { listEndpoint } from "../../http/list-endpoint.ts";
import { timePosition } from "../../storage/lists/page.ts";
import type { ChangeWatch } from "../changes/service.ts";
import { getRide, listRideChanges, listRides, type RideContext, type RideFilters } from "./service.ts";

/** Returns the endpoints of rides. */
export function rideRoutes(
  context: RideContext & { readonly changes: ChangeWatch },
  cursors: CursorCipher,
): RouterImplementation<(typeof partnerContract)["rides"]> {
  return {
    list: listEndpoint(cursors, {
      name: "rides",
      position: timePosition,
      read: (request, filters: RideFilters, page) => listRides(context, partnerOf(request), filters, page),
      followed: {
        table: "rides",
        watch: context.changes,
        readChanges: (request, filters, range) => listRideChanges(context, partnerOf(request), filters, range),
      },
    }),
    get: async ({ params: { id }, request }) => {
      const ride = await getRide(context, callerOf(request).key.system_id, id);
      if (ride === undefined) throw serviceError("not_found", "ride");
      return { status: 200, body: jsonBody(ride) };
    },
  };
}
