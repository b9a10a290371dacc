import type { Region } from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { QueryRunner } from "../../storage/db/database.ts";
import { pageOfItems, sortById, type Page } from "../../storage/lists/page.ts";
import { deleteRegion, findOwnRegions, findUsedRegions, findWhetherRegionUsed, updateRegion } from "./queries.ts";
import { saidBySources } from "./said.ts";

/** Every region that is named, or that a station is in. */
export async function regionsOf(db: QueryRunner, systemId: string): Promise<Region[]> {
  const said = await regionsOfSources(db, systemId);
  return sortById(mergeRegions(await findOwnRegions(db, systemId), said, await findUsedRegions(db, systemId)));
}

/** Every region as readers see it, with what the operator calls it; null: nothing. */
export async function describedRegions(
  db: QueryRunner,
  systemId: string,
): Promise<{ readonly region: Region; readonly ownName: string | null }[]> {
  const own = await findOwnRegions(db, systemId);
  const regions = await regionsOf(db, systemId);
  return regions.map((region) => ({ region, ownName: own.find(({ id }) => id === region.id)?.name ?? null }));
}

async function regionsOfSources(db: QueryRunner, systemId: string): Promise<Region[]> {
  const sources = await saidBySources(db, systemId);
  return sources.flatMap((source) => (source.feed === "system_regions" ? source.content : []));
}

/** Returns a page of a system's regions, ordered by id. */
export async function listRegions(
  db: QueryRunner,
  systemId: string,
  request: PageRequest<string>,
): Promise<Page<string>> {
  return pageOfItems(await regionsOf(db, systemId), request);
}

/** Notes what the operator calls a region. It goes before what sources say. */
export async function nameRegion(context: ActorContext, systemId: string, region: Region): Promise<void> {
  await context.db.transaction(async (tx) => {
    await updateRegion(tx, systemId, region);
    const { id, name } = region;
    await insertActOf(context, tx, { systemId, action: "region.named", subject: id, detail: { name } });
  });
}

/**
 * Takes back what the operator calls a region.
 * @throws ServiceError `not_found` when that is nothing, `invalid_parameter` while stations are in a region that no source names
 */
export async function removeRegion(context: ActorContext, systemId: string, id: string): Promise<void> {
  await context.db.transaction(async (tx) => {
    const isNamed = (await regionsOfSources(tx, systemId)).some((region) => region.id === id);
    if (!isNamed && (await findWhetherRegionUsed(tx, systemId, id))) {
      throw commandError("invalid_parameter", "regionInUse", { id });
    }
    if (!(await deleteRegion(tx, systemId, id))) throw commandError("not_found", "region", { id });
    await insertActOf(context, tx, { systemId, action: "region.removed", subject: id, detail: {} });
  });
}

/**
 * Returns the regions of a system: each that the operator or a source names, or that a station is in.
 * @param own what the operator says: it goes before what sources say
 * @param said what sources say, the first source first
 * @param used ids that stations name
 */
function mergeRegions(own: readonly Region[], said: readonly Region[], used: readonly string[]): Region[] {
  const unnamed = used.map((id) => ({ id, name: id }));
  // Of two with one id a map keeps the last.
  const byId = new Map([...unnamed, ...said.toReversed(), ...own].map((region) => [region.id, region]));
  return [...byId.values()];
}
