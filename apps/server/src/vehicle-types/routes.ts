import type { partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import { jsonBody } from "../http/bind.ts";
import { partnerOf } from "../http/caller.ts";
import type { CursorSealer } from "../http/cursor.ts";
import { readSliceRequest, writeEnvelope } from "../http/paging.ts";
import { idPosition } from "../lists/by-id.ts";
import type { ReadContext } from "../lists/context.ts";
import { listVehicleTypes } from "./service.ts";

/**
 * The endpoints of vehicle types. Their lists are put together for each request: they take a place among the reads that may take long.
 */
export function vehicleTypeRoutes(
  { filtered }: ReadContext,
  sealer: CursorSealer,
): RouterImplementation<(typeof partnerContract)["vehicleTypes"]> {
  return {
    list: async ({ query, request }) => {
      const whose = partnerOf(request);
      const { systemId } = whose;
      const name = { systemId, list: "vehicle_types", filters: {} };
      const slice = readSliceRequest(query, name, sealer, idPosition);
      const found = await filtered.read(whose, (db) => listVehicleTypes(db, systemId, slice));
      return { status: 200, body: jsonBody(writeEnvelope(slice, found, name, sealer, idPosition)) };
    },
  };
}
