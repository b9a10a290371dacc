import { hash } from "node:crypto";
import { serviceError } from "@bikeshare/rules";
import { newPublicId } from "../../city/fleet/bike.rules.ts";
import { regionsOf } from "../../city/systems/regions.ts";
import { detailsOf, hasSystem, type SystemDetails } from "../../city/systems/service.ts";
import { vehicleTypesOf } from "../../city/systems/vehicle-types.ts";
import type { Ids } from "../../ids.ts";
import type { Database, Transaction } from "../../storage/db/database.ts";
import {
  discovery,
  EARLIEST_MS,
  type GbfsForm,
  versions,
  stationInformation,
  stationStatus,
  systemInformation,
  systemRegions,
  vehicleStatus,
  vehicleTypes,
} from "./documents.ts";
import {
  lockPublication,
  updatePublication,
  listPublishedBikes,
  listPublishedStations,
  lockBikesWithoutPublicId,
  updatePublicIds,
  type Publication,
} from "./queries.ts";

/** The dependencies of publishing feeds. */
export interface GbfsContext {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  /** Returns the service's base address: the addresses in gbfs.json are below it. */
  readonly baseUrl: () => string;
}

/** A document that is published. */
export interface GbfsDocument {
  readonly json: string;
  readonly lastUpdated: Date;
  /** Whether another document was published with the same `last_updated`, which then does not distinguish them. */
  readonly sharesSecond: boolean;
  /** Seconds for which the document may be kept. */
  readonly ttl: number;
}

/**
 * Seconds for which callers may cache documents that change with each ride, and those that seldom change. Too low: requests
 * return nothing new. Too high: a rider walks to a bike that is gone, or a new station has no name yet.
 */
const STATUS_TTL_SECONDS = 10;
const DESCRIPTION_TTL_SECONDS = 60;

/**
 * Makes the document of a feed from the current state, and records it as published.
 * @param feed its name in this version, such as `station_status`
 * @throws ServiceError `not_found` where there is no such system or feed
 */
export async function gbfsDocument(
  context: GbfsContext,
  systemId: string,
  form: GbfsForm,
  feed: string,
): Promise<GbfsDocument> {
  const { db, clock } = context;
  requireFeed(form, feed);
  return db.transaction(async (tx) => {
    if (!(await hasSystem(tx, systemId))) throw serviceError("not_found", "system");
    const key = [systemId, form.version, feed] as const;
    // Locked before the state is read, so that the next publication is of a later state.
    const held = await lockPublication(tx, key);
    const system = await detailsOf(tx, systemId);
    if (system === undefined) throw serviceError("not_found", "system");
    const data = await dataOf(tx, context, { form, system, feed });
    if (data === undefined) throw serviceError("not_found", "feedOfSystem");
    const ttl =
      feed === "station_status" || feed === form.names.vehicleFeed ? STATUS_TTL_SECONDS : DESCRIPTION_TTL_SECONDS;
    const content = `"ttl":${ttl},"version":"${form.version}","data":${JSON.stringify(data)}}`;
    const published = publish(held, hash("sha256", content, "buffer"), clock());
    if (published !== held) await updatePublication(tx, key, published);
    return {
      json: `{"last_updated":${JSON.stringify(form.instant(published.last_updated))},${content}`,
      lastUpdated: published.last_updated,
      sharesSecond: published.shares_second,
      ttl,
    };
  });
}

/** @throws ServiceError `not_found` for a feed that no system has in this version */
export function requireFeed(form: GbfsForm, feed: string): void {
  const names = feedNames(form);
  if (!names.includes(feed)) throw serviceError("not_found", "feed", { feeds: names.join(", ") });
}

/** Every feed that a system may have, in the order in which they are listed. */
function feedNames({ names }: GbfsForm): string[] {
  return [
    "gbfs",
    "gbfs_versions",
    "system_information",
    "vehicle_types",
    "station_information",
    "station_status",
    names.vehicleFeed,
    "system_regions",
  ];
}

/** Returns the `data` of a feed; undefined where the system has none. */
async function dataOf(
  tx: Transaction,
  context: GbfsContext,
  { form, system, feed }: { readonly form: GbfsForm; readonly system: SystemDetails; readonly feed: string },
): Promise<object | undefined> {
  const systemId = system.id;
  switch (feed) {
    case "gbfs": {
      const hasRegions = (await regionsOf(tx, systemId)).length > 0;
      const listed = feedNames(form).filter((name) => name !== "gbfs" && (name !== "system_regions" || hasRegions));
      return discovery(form, system, context.baseUrl(), listed);
    }
    case "gbfs_versions":
      return versions(system, context.baseUrl());
    case "system_information":
      return systemInformation(form, system);
    case "vehicle_types":
      return vehicleTypes(form, system, await vehicleTypesOf(tx, systemId));
    case "station_information":
      return stationInformation(form, system, await listPublishedStations(tx, systemId));
    case "station_status":
      return stationStatus(form, await listPublishedStations(tx, systemId));
    case "system_regions":
      return systemRegions(form, system, await regionsOf(tx, systemId));
    default:
      await assignPublicIds(tx, context.ids, systemId);
      return vehicleStatus(form, await listPublishedBikes(tx, systemId));
  }
}

/**
 * Gives a public id to each bike that has none, as imported bikes have before they are first published. Kept in the
 * bike's own row, so that every process publishes the same.
 */
async function assignPublicIds(tx: Transaction, ids: Ids, systemId: string): Promise<void> {
  const bikeIds = await lockBikesWithoutPublicId(tx, systemId);
  const publicIds = bikeIds.map(() => newPublicId(ids));
  if (bikeIds.length > 0) await updatePublicIds(tx, systemId, bikeIds, publicIds);
}

/**
 * Returns the record of a feed's publication: the previous one while the content is the same, so that `last_updated` is the
 * time of the last change. It never goes back, whatever the clock does.
 * @param now milliseconds since 1970
 */
export function publish(held: Publication, digest: Uint8Array, now: number): Publication {
  if (Buffer.compare(held.digest, digest) === 0) return held;
  const before = held.last_updated.getTime();
  const at = Math.max(Math.floor(now / 1000) * 1000, before, EARLIEST_MS);
  return { digest, last_updated: new Date(at), shares_second: at === before };
}
