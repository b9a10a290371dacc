import type { Region, VehicleType } from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import type { QueryRunner } from "../../storage/db/database.ts";
import { pageOfItems, type Page } from "../../storage/lists/page.ts";
import { describedAll, describedTypesEver, mainLanguageOf, textIn } from "./service.ts";

// Regions and vehicle types as partners see them, in the system's main language.

/** Returns a page of the vehicle types that are described, or that a bike, a station or a ride names, ordered by id. */
export async function listVehicleTypes(
  db: QueryRunner,
  systemId: string,
  request: PageRequest<string>,
): Promise<Page<string>> {
  const language = await mainLanguageOf(db, systemId);
  const types = (await describedTypesEver(db, systemId)).map(({ id, published }): VehicleType => {
    const { name, form_factor = null, propulsion_type = null, max_range_meters = null } = published;
    return { id, name: textIn(name, language), form_factor, propulsion_type, max_range_meters };
  });
  return pageOfItems(types, request);
}

/** Returns a page of the regions that are named, or that a station is in, ordered by id. */
export async function listRegions(
  db: QueryRunner,
  systemId: string,
  request: PageRequest<string>,
): Promise<Page<string>> {
  return pageOfItems(await regionsOf(db, systemId), request);
}

/** Returns every region that is named, or that a station is in, ordered by id. */
export async function regionsOf(db: QueryRunner, systemId: string): Promise<Region[]> {
  const language = await mainLanguageOf(db, systemId);
  return (await describedAll(db, systemId, "region")).map(({ id, published: { name } }): Region => ({
    id,
    name: textIn(name, language) ?? id,
  }));
}
