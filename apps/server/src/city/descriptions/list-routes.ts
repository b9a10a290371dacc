import type { partnerContract } from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import { partnerOf } from "../../http/authenticate.ts";
import type { CursorCipher } from "../../http/cursor.ts";
import { listEndpoint } from "../../http/list-endpoint.ts";
import type { QueryRunner } from "../../storage/db/database.ts";
import { idPosition, type Page } from "../../storage/lists/page.ts";
import type { ReadContext } from "../../storage/lists/read-context.ts";
import { listRegions, listVehicleTypes } from "./lists.ts";

type ListOfSystem = (db: QueryRunner, systemId: string, page: PageRequest<string>) => Promise<Page<string>>;

/** Routes of regions and vehicle types. They count as slow reads, because each request assembles its list. */
export function systemRoutes(
  { filtered }: ReadContext,
  cursors: CursorCipher,
): RouterImplementation<Pick<typeof partnerContract, "regions" | "vehicleTypes">> {
  const listOf = (name: "regions" | "vehicle_types", list: ListOfSystem) =>
    listEndpoint(cursors, {
      name,
      position: idPosition,
      read: (request, _filters: object, page) => {
        const partner = partnerOf(request);
        return filtered.read(partner, (db) => list(db, partner.systemId, page));
      },
    });
  return {
    regions: { list: listOf("regions", listRegions) },
    vehicleTypes: { list: listOf("vehicle_types", listVehicleTypes) },
  };
}
