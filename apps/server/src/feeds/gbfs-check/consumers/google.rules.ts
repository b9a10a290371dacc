import { isAtLeast } from "@bikeshare/contract";
import type { FeedLoss } from "@bikeshare/contract/console";
import { isObject } from "../../gbfs/values.ts";
import type { FeedSet } from "../feed-set.ts";
import { objectsIn, type PlacedRecord, recordsOf } from "../rules/rule.ts";
import type { Consumer, Taken } from "./consumer.ts";

/**
 * Google Maps. The rules are the requirements that Google's guide for micromobility partners adds to GBFS. Google reviews
 * each feed before it uses the feed.
 */
export const google: Consumer = {
  id: "google",
  name: "Google",
  about: "Google Maps, by its guide for publishers.",
  readsVersion2: true,
  take,
};

function take(set: FeedSet): Taken {
  const stations = [...recordsOf(set, "station_information")];
  const vehicles = [...recordsOf(set, "vehicle_status")];
  const losses: FeedLoss[] = [];
  const all = stations.length + vehicles.length;
  const apps = appsOf(set);
  if (apps.length === 0)
    losses.push({
      text: "finds no rental apps",
      fix: "Add `rental_apps` with `store_uri` and `discovery_uri`.",
      count: all,
    });
  // Vehicles at a station need no link, because riders rent them at the station.
  const rented = [...stations, ...vehicles.filter((vehicle) => vehicle.get("station_id") === undefined)];
  const isLinked = (each: PlacedRecord) => hasLink(each.get("rental_uris"), apps);
  const unlinked = rented.filter((each) => !isLinked(each));
  // Google shows what riders can rent by a link, and vehicles at stations that have one.
  const linkedStations = stations.filter(isLinked);
  const linkedIds = new Set<unknown>(linkedStations.map(({ id }) => id));
  const linkedVehicles = vehicles.filter((vehicle) => {
    const station = vehicle.get("station_id");
    return station === undefined ? isLinked(vehicle) : linkedIds.has(station);
  });
  const noun = rented.length === 1 ? "station and vehicle" : "stations and vehicles";
  if (unlinked.length > 0)
    losses.push({
      text: `finds no links into the app for ${shownNumber(unlinked.length)} of ${shownNumber(rented.length)} ${noun}`,
      fix: "Add `rental_uris` with `android` and `ios` to every station and every free vehicle.",
      // With the vehicles at stations without a link, which riders cannot rent either.
      count: all - linkedStations.length - linkedVehicles.length,
    });
  if (set.one("system_pricing_plans") === undefined)
    losses.push({ text: "finds no prices", fix: "Publish system_pricing_plans.json.", count: all });
  if (isAtLeast(set.version, "3.0") && !publishesVersion2(set))
    losses.push({ text: `documents GBFS 2 alone, not ${set.version}`, fix: "Publish 2.3 too.", count: 0 });
  // Without an app, links lead nowhere.
  const shownOf = (linked: readonly PlacedRecord[]) => (apps.length === 0 ? 0 : linked.length);
  return {
    stations: { shown: shownOf(linkedStations), of: stations.length },
    vehicles: { shown: shownOf(linkedVehicles), of: vehicles.length },
    losses,
  };
}

function shownNumber(value: number): string {
  return value.toLocaleString("en-US");
}

/** Tells whether a system's `gbfs_versions` lists a version 2, the one that Google's guide describes. */
function publishesVersion2(set: FeedSet): boolean {
  return objectsIn(set.field("gbfs_versions", "versions")).some(
    ({ version }) => typeof version === "string" && version.startsWith("2."),
  );
}

/** Returns the platforms for which the system names its app. */
function appsOf(set: FeedSet): string[] {
  const apps = set.field("system_information", "rental_apps");
  return ["android", "ios"].filter((platform) => {
    const app = isObject(apps) ? apps[platform] : undefined;
    return isObject(app) && typeof app["store_uri"] === "string" && typeof app["discovery_uri"] === "string";
  });
}

/**
 * Tells whether there is a link into the app on a platform for which the system names its app, or on any platform if it
 * names none.
 */
function hasLink(links: unknown, apps: readonly string[]): boolean {
  if (!isObject(links)) return false;
  const platforms = apps.length === 0 ? ["android", "ios"] : apps;
  return platforms.some((platform) => typeof links[platform] === "string" && links[platform] !== "");
}
