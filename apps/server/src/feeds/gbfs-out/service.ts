import { hash } from "node:crypto";
import { type FactsOf, type GbfsFeedName, isAtLeast, type PublishedGbfsVersion } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import { openAlerts } from "../../city/alerts/service.ts";
import {
  type Described,
  describedAll,
  describedOne,
  describedSystem,
  typesInUse,
} from "../../city/descriptions/service.ts";
import { newPublicId } from "../../city/fleet/bike.rules.ts";
import { hasSystem, systemsOf } from "../../city/systems/service.ts";
import type { Ids } from "../../ids.ts";
import { once } from "../../once.ts";
import type { Database, Queryable, Transaction } from "../../storage/db/database.ts";
import { EARLIEST_MS } from "./defaults.ts";
import { discovery, type FeedName, feedsIn, manifest, manifestUrl, nameIn, versionsOf } from "./discovery.ts";
import {
  type AlertFacts,
  type BikeFacts,
  instant,
  type Known,
  type KnownSystem,
  languagesOf,
  mainLanguage,
  type PlanFacts,
  type RegionFacts,
  type StationFacts,
  stationInformation,
  stationStatus,
  systemAlerts,
  systemCalendar,
  systemHours,
  systemInformation,
  systemPricingPlans,
  systemRegions,
  timeZoneOf,
  type TypeFacts,
  vehicleStatus,
  vehicleTypes,
} from "./documents.ts";
import { dayAfter, localTime, openingHoursOf, type SaidHours } from "./hours.rules.ts";
import {
  countPublished,
  findZonesState,
  hasPublishedStations,
  hasUntypedCounts,
  listPublishedBikes,
  listPublishedStationIds,
  listPublishedStations,
  listTypeUses,
  lockBikesWithoutPublicId,
  lockPublication,
  type Publication,
  updatePublication,
  updatePublicIds,
} from "./queries.ts";
import { type FeedData, writeData } from "./writer.ts";
import { geofencingZones } from "./zones.rules.ts";

/*
 * Publishes a system as GBFS feeds. Builds a document from the database when it is requested. Stores a digest of each feed's
 * content, its publication, so that `last_updated` is the time at which the content last changed.
 */

/** The dependencies of publishing feeds. */
export interface GbfsContext {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  /** Returns the service's base address, which the addresses in gbfs.json begin with. */
  readonly baseUrl: () => string;
}

/** A published document. */
export interface GbfsDocument {
  readonly json: string;
  readonly lastUpdated: Date;
  /** True: another document of this feed has the same `last_updated`, so that this time does not identify the document. */
  readonly sharesSecond: boolean;
  /** Seconds for which callers may cache the document. */
  readonly ttl: number;
  /** The languages of the system, the main one first. */
  readonly languages: readonly string[];
}

/**
 * Seconds for which callers may cache documents that change with each ride, and those that seldom change. Too low:
 * callers repeat requests for unchanged documents. Too high: riders walk to bikes that are gone, and new stations
 * appear late.
 */
const STATUS_TTL_SECONDS = 10;
const DESCRIPTION_TTL_SECONDS = 60;

/** Identifies a document. */
export interface DocumentName {
  readonly systemId: string;
  readonly version: PublishedGbfsVersion;
  readonly feed: FeedName;
  /** Undefined: the system's main language. */
  readonly language?: string | undefined;
}

/**
 * Builds a document from the current state, and records it as published.
 * @param hasZones whether the list of feeds names the zones; undefined: the zones are read to find out, which takes long if
 * they have megabytes
 * @throws ServiceError `not_found` when there is no such system or feed, `system_ended` when the system has ended
 */
export async function gbfsDocument(
  context: GbfsContext,
  document: DocumentName,
  hasZones?: boolean,
): Promise<GbfsDocument> {
  const { db, clock } = context;
  const { systemId, version, feed, language } = document;
  return db.transaction(async (tx) => {
    if (!(await hasSystem(tx, systemId))) throw serviceError("not_found", "system");
    const name = nameIn(version, feed);
    const key = [systemId, version, language === undefined ? name : `${language}/${name}`] as const;
    // Locks the publication before reading the state, so that a later publication never has an earlier state.
    const held = await lockPublication(tx, key);
    const city = await knownCity(tx, systemId);
    if (city === undefined) throw serviceError("not_found", "system");
    if (hasEnded(city.system, clock())) throw serviceError("system_ended");
    const data = await dataOf({ ...context, tx, city, now: clock(), hasZones }, document);
    if (data === undefined) throw serviceError("not_found", "feedOfSystem");
    const ttl = feed === "station_status" || feed === "vehicle_status" ? STATUS_TTL_SECONDS : DESCRIPTION_TTL_SECONDS;
    // The document without its `last_updated`, so that equal content has an equal digest.
    const content = `"ttl":${ttl},"version":"${version}","data":${data}}`;
    const published = publish(held, hash("sha256", content, "buffer"), clock());
    if (published !== held) await updatePublication(tx, key, published);
    const at = published.last_updated.getTime();
    return {
      json: `{"last_updated":${isAtLeast(version, "3.0") ? `"${instant(at)}"` : at / 1000},${content}`,
      lastUpdated: published.last_updated,
      sharesSecond: published.shares_second,
      ttl,
      languages: languagesOf(city.system),
    };
  });
}

/** Returns the facts about a system's feeds that `health` checks; undefined: there is no such system. */
export async function publishedFacts(db: Queryable, systemId: string) {
  const city = await knownCity(db, systemId);
  if (city === undefined) return undefined;
  const counts = await countPublished(db, systemId);
  return { ...counts, system: city.system, plans: (await city.plans()).length };
}

/** Returns a text that differs whenever the published zones of a system may differ. */
export async function zonesState({ db }: GbfsContext, systemId: string): Promise<string> {
  const said = await findZonesState(db, systemId);
  // A zone's rule for a vehicle type is published only if the type exists. A type also exists if only a bike or a
  // station names it.
  const types = await typesInUse(db, systemId);
  return JSON.stringify([said, types.toSorted()]);
}

/** Days for which the feeds of a system stay available after its last day. */
const DAYS_AFTER_END = 30;

/** Tells whether a system's feeds are no longer available. */
function hasEnded(system: KnownSystem, now: number): boolean {
  const { termination_date: end } = system.facts;
  return end !== undefined && localTime(now, timeZoneOf(system)).date > dayAfter(end, DAYS_AFTER_END);
}

/** The data from which documents are built. */
interface Inputs extends Pick<GbfsContext, "ids" | "baseUrl"> {
  readonly tx: Transaction;
  readonly city: KnownCity;
  readonly now: number;
  readonly hasZones: boolean | undefined;
}

/** Returns the `data` of a document as JSON; undefined when the system has none. */
async function dataOf(
  inputs: Inputs,
  { version, feed, language }: Pick<DocumentName, "version" | "feed" | "language">,
): Promise<string | undefined> {
  const { system } = inputs.city;
  if (feed === "gbfs") {
    const listed: FeedName[] = [];
    for (const name of feedsIn(version)) {
      if (name !== "gbfs" && name !== "manifest" && (await hasContent(inputs, version, name))) listed.push(name);
    }
    return JSON.stringify(discovery({ baseUrl: inputs.baseUrl(), system }, version, listed));
  }
  const main = mainLanguage(system);
  const data = await canonical[feed](inputs, version);
  return data && writeData(feed, data, version, { wanted: language ?? main, main });
}

/**
 * Feeds that every system publishes, even if they are empty. A consumer that read the list before an alert began must
 * find the alert.
 */
const everySystemHas: ReadonlySet<FeedName> = new Set([
  "gbfs_versions",
  "system_information",
  "vehicle_types",
  "station_information",
  "station_status",
  "vehicle_status",
  "system_alerts",
]);

/** Tells whether a system has a feed, so that `gbfs.json` lists it. */
async function hasContent(inputs: Inputs, version: PublishedGbfsVersion, feed: Exclude<FeedName, "gbfs">) {
  if (feed === "geofencing_zones" && inputs.hasZones !== undefined) return inputs.hasZones;
  return everySystemHas.has(feed) || (await canonical[feed](inputs, version)) !== undefined;
}

/** Builds a feed's canonical `data`. Only feeds that contain addresses depend on the version. */
type Canonical<Feed extends GbfsFeedName> = (
  inputs: Inputs,
  version: PublishedGbfsVersion,
) => FeedData<Feed> | undefined | Promise<FeedData<Feed> | undefined>;

/**
 * Functions that build each feed's `data` in canonical form (the newest version's, all languages), which `writeData` turns
 * into a version. They return undefined when the system does not have the feed.
 */
const canonical: { readonly [Feed in Exclude<FeedName, "gbfs">]: Canonical<Feed> } = {
  gbfs_versions: ({ city: { system }, baseUrl }, version) => versionsOf({ baseUrl: baseUrl(), system }, version),
  manifest: async ({ tx, baseUrl }, version) => manifest(await knownSystems(tx), baseUrl(), version),
  system_information: async ({ tx, city: { system }, baseUrl }, version) => {
    const { length } = await systemsOf(tx);
    return systemInformation(system, length > 1 ? manifestUrl(baseUrl(), version) : undefined);
  },
  vehicle_types: async ({ tx, city: { system, types, plans } }) =>
    vehicleTypes({
      types: await types(),
      plans: idsOf(await plans()),
      uses: await listTypeUses(tx, system.id),
      hasStations: await hasPublishedStations(tx, system.id),
      hasUntypedCounts: await hasUntypedCounts(tx, system.id),
    }),
  station_information: async (inputs) => {
    const { types, regions } = inputs.city;
    const ids = { types: idsOf(await types()), regions: idsOf(await regions()) };
    return stationInformation(await stationInputs(inputs), ids);
  },
  station_status: async (inputs) => {
    const read = await stationInputs(inputs);
    // Reads the types only if a station needs them: few sources count docks by type.
    const hasDocks = read.stations.some((station) => station.vehicle_docks_available !== null);
    const types = hasDocks ? idsOf(await inputs.city.types()) : new Set<string>();
    return stationStatus(read, types, inputs.now);
  },
  vehicle_status: async ({ tx, ids, city: { system, types, plans, bikeFacts } }) => {
    await assignPublicIds(tx, ids, system.id);
    const inputs = {
      system,
      bikes: await listPublishedBikes(tx, system.id),
      facts: await bikeFacts(),
      types: new Map((await types()).map(({ id, facts }) => [id, facts])),
    };
    // Reads the ids of stations only if a bike needs them: few bikes have a home station.
    const hasHomes =
      [...inputs.facts.values()].some((facts) => facts.home_station_id !== undefined) ||
      inputs.bikes.some(({ source_facts: said }) => said !== null && "home_station_id" in said);
    const stations = hasHomes ? await listPublishedStationIds(tx, system.id) : new Set<string>();
    return vehicleStatus(inputs, { stations, plans: idsOf(await plans()) });
  },
  system_hours: ({ city: { system } }) => systemHours(system),
  system_calendar: ({ city: { system } }) => systemCalendar(system),
  system_regions: async ({ city }) => systemRegions(city.system, await city.regions()),
  system_pricing_plans: async ({ city }) => systemPricingPlans(await city.plans()),
  system_alerts: async ({ tx, city, now }) => {
    const alerts = await city.alerts(new Date(now));
    const stations = alerts.length === 0 ? new Set<string>() : await listPublishedStationIds(tx, city.system.id);
    return systemAlerts(alerts, { stations, regions: idsOf(await city.regions()) });
  },
  geofencing_zones: async ({ city }) => {
    const { features = [], global_rules = [] } = await city.zones();
    if (features.length + global_rules.length === 0) return undefined;
    return geofencingZones({ features, global_rules }, idsOf(await city.types()));
  },
};

/** Reads the data from which both feeds of stations are built. */
async function stationInputs({ tx, city: { system, stationFacts } }: Inputs) {
  return { system, stations: await listPublishedStations(tx, system.id), facts: await stationFacts() };
}

function idsOf(known: readonly { readonly id: string }[]): ReadonlySet<string> {
  return new Set(known.map(({ id }) => id));
}

/**
 * Assigns a public id to each bike without one, such as imported bikes before their first publication. The bike's row
 * stores the id, so that every process publishes the same one.
 */
async function assignPublicIds(tx: Transaction, ids: Ids, systemId: string): Promise<void> {
  const bikeIds = await lockBikesWithoutPublicId(tx, systemId);
  const publicIds = bikeIds.map(() => newPublicId(ids));
  if (bikeIds.length > 0) await updatePublicIds(tx, systemId, bikeIds, publicIds);
}

/**
 * Returns the record of a feed's publication. Unchanged content keeps the previous record, so `last_updated` is the
 * time of the last change. It never decreases, even if the clock does.
 * @param now milliseconds since 1970
 */
export function publish(held: Publication, digest: Uint8Array, now: number): Publication {
  if (Buffer.compare(held.digest, digest) === 0) return held;
  const before = held.last_updated.getTime();
  const at = Math.max(Math.floor(now / 1000) * 1000, before, EARLIEST_MS);
  return { digest, last_updated: new Date(at), shares_second: at === before };
}

/** What is known of a system and of its parts. The parts are read when they are first needed. */
interface KnownCity {
  readonly system: KnownSystem;
  readonly types: () => Promise<readonly Known<TypeFacts>[]>;
  readonly plans: () => Promise<readonly Known<PlanFacts>[]>;
  readonly regions: () => Promise<readonly Known<RegionFacts>[]>;
  readonly zones: () => Promise<FactsOf<"geofencing_zones">>;
  readonly alerts: (now: Date) => Promise<readonly AlertFacts[]>;
  /** The operator's facts of stations, by station id. */
  readonly stationFacts: () => Promise<ReadonlyMap<string, StationFacts>>;
  /** The operator's facts of bikes, by private bike id. */
  readonly bikeFacts: () => Promise<ReadonlyMap<string, BikeFacts>>;
}

/** Returns every system of the deployment, oldest first. */
async function knownSystems(tx: Queryable): Promise<KnownSystem[]> {
  const systems: KnownSystem[] = [];
  for (const { system_id: id } of await systemsOf(tx)) {
    const city = await knownCity(tx, id);
    if (city !== undefined) systems.push(city.system);
  }
  return systems;
}

/** Returns the descriptions of a system; undefined when there is no such system. */
async function knownCity(tx: Queryable, systemId: string): Promise<KnownCity | undefined> {
  const system = await describedSystem(tx, systemId);
  if (system === undefined) return undefined;
  // Returns a function that reads the descriptions of one kind, once.
  const all = <Kind extends "vehicle_type" | "region" | "pricing_plan">(kind: Kind) =>
    once(async () => (await describedAll(tx, systemId, kind)).map(({ id, published }) => ({ id, facts: published })));
  return {
    system: withHours(systemId, system),
    types: all("vehicle_type"),
    plans: all("pricing_plan"),
    regions: all("region"),
    zones: once(async () => (await describedOne(tx, systemId, "geofencing_zones", "")).published),
    alerts: (now) => openAlerts(tx, systemId, now),
    stationFacts: once(() => ownFacts(tx, systemId, "station")),
    bikeFacts: once(() => ownFacts(tx, systemId, "bike")),
  };
}

/**
 * Returns a system's facts. If `opening_hours` would be only a default, they are derived from the hours that the source
 * publishes in the older form, or left out. Without any hours, GBFS 2.3 has no `system_hours`.
 */
function withHours(id: string, { published, from }: Described<"system">): KnownSystem {
  const { rental_hours, calendars, ...facts }: FactsOf<"system"> & SaidHours = published;
  // `from` tells where each fact comes from: the operator, a source, or this service's defaults.
  if (from.opening_hours !== "default") return { id, facts };
  const saidHours = { rental_hours, calendars };
  return { id, facts: { ...facts, opening_hours: openingHoursOf(saidHours) }, saidHours };
}

/** Returns the operator's facts of stations or bikes, by id. The facts of sources are in `source_facts` of their rows. */
async function ownFacts(
  tx: Queryable,
  systemId: string,
  kind: "station" | "bike",
): Promise<ReadonlyMap<string, StationFacts & BikeFacts>> {
  const described = await describedAll(tx, systemId, kind);
  return new Map(described.map(({ id, own }) => [id, own]));
}
