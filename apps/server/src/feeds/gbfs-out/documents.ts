import type {
  alertFields,
  FactsOf,
  GbfsFeedName,
  LocalText,
  pricingPlanFields,
  regionFields,
  stationInformationFields,
  ValueOf,
  vehicleFields,
  vehicleTypeFields,
} from "@bikeshare/contract";
import { sortById } from "../../storage/lists/page.ts";
import { EARLIEST_MS, NO_ADDRESS, UNSPECIFIED } from "./defaults.ts";
import { type Hours, hoursFrom, isOpenAt, localTime, plainHours, type SaidHours } from "./hours.rules.ts";
import { linksOf, linkWriter } from "./links.rules.ts";
import type { PublishedBike, PublishedStation, TypeUse } from "./queries.ts";
import type { FeedData } from "./writer.ts";

// Builds the `data` of each published document in canonical form, which is that of GBFS 3.1; `writer.ts` converts it to
// older versions. GBFS has no null: an unknown field is undefined, and so omitted.

type Data<Feed extends GbfsFeedName> = FeedData<Feed>;

/** The facts of a system, and its id in this deployment. */
export interface KnownSystem {
  readonly id: string;
  readonly facts: FactsOf<"system">;
  /** Hours in the form of GBFS before 3.0, as a source publishes them; undefined if somebody gives `opening_hours`. */
  readonly saidHours?: SaidHours | undefined;
}

/** The id of a station, bike, vehicle type, plan or region, with its published facts. */
export interface Known<Facts> {
  readonly id: string;
  readonly facts: Facts;
}

/** The published facts of each kind of record, without its id. */
export type TypeFacts = Omit<ValueOf<typeof vehicleTypeFields>, "vehicle_type_id">;
export type PlanFacts = Omit<ValueOf<typeof pricingPlanFields>, "plan_id">;
export type StationFacts = Omit<ValueOf<typeof stationInformationFields>, "station_id">;
export type BikeFacts = Omit<ValueOf<typeof vehicleFields>, "vehicle_id">;
export type RegionFacts = Omit<ValueOf<typeof regionFields>, "region_id">;

/** An alert with its id, `alert_id`. */
export type AlertFacts = ValueOf<typeof alertFields>;

/** Ids of published records, to which a document may refer. */
type Ids = ReadonlySet<string>;

/** Returns the language of texts that have only one. */
export function mainLanguage({ facts }: KnownSystem): string {
  return facts.language ?? "en";
}

/** Returns the languages of the system's own texts, the main one first. */
export function languagesOf(system: KnownSystem): string[] {
  const texts = Object.values(system.facts).flatMap((value: unknown) => (isTexts(value) ? value : []));
  return [...new Set([mainLanguage(system), ...texts.map(({ language }) => language)])];
}

function isTexts(value: unknown): value is readonly LocalText[] {
  return Array.isArray(value) && value.every((item: object) => "text" in item && "language" in item);
}

/** Returns the `system_id` that feeds publish, by which trip planners store the system. */
export function publishedId({ id, facts }: KnownSystem): string {
  return facts.published_id ?? id;
}

/** Returns a text in the system's main language; undefined for an empty one. */
function inMain(system: KnownSystem, text: string | null): readonly LocalText[] | undefined {
  return text === null || text === "" ? undefined : [{ text, language: mainLanguage(system) }];
}

/** Builds `system_information`. @param manifestUrl undefined: there is no manifest */
export function systemInformation(system: KnownSystem, manifestUrl: string | undefined): Data<"system_information"> {
  const { facts } = system;
  const { licence, terms_last_updated, privacy_last_updated } = facts;
  // A licence is an id of the SPDX list, such as CC-BY-4.0, or an address, which has a colon.
  const isId = licence !== undefined && !licence.includes(":");
  return {
    system_id: publishedId(system),
    languages: languagesOf(system),
    name: facts.name ?? [{ text: system.id, language: mainLanguage(system) }],
    opening_hours: facts.opening_hours ?? "24/7",
    short_name: facts.short_name,
    operator: facts.operator,
    url: facts.url,
    purchase_url: facts.purchase_url,
    start_date: facts.start_date,
    termination_date: facts.termination_date,
    phone_number: facts.phone_number,
    email: facts.email,
    feed_contact_email: facts.feed_contact_email ?? NO_ADDRESS,
    manifest_url: manifestUrl,
    timezone: timeZoneOf(system),
    license_id: isId ? licence : undefined,
    license_url: isId ? undefined : licence,
    attribution_organization_name: facts.attribution_organization_name,
    attribution_url: facts.attribution_url,
    brand_assets: facts.brand_assets,
    // GBFS accepts a URL of terms only together with the date of their last change.
    terms_url: terms_last_updated === undefined ? undefined : facts.terms_url,
    terms_last_updated,
    privacy_url: privacy_last_updated === undefined ? undefined : facts.privacy_url,
    privacy_last_updated,
    rental_apps: facts.rental_apps,
  };
}

/** Returns the system's time zone; UTC: none is known. */
export function timeZoneOf({ facts }: KnownSystem): string {
  return facts.timezone ?? "UTC";
}

/** The data from which `vehicle_types` is built. */
export interface TypeInputs {
  /** Every vehicle type that is described, or that a station or bike has. */
  readonly types: readonly Known<TypeFacts>[];
  /** The ids of published pricing plans. */
  readonly plans: Ids;
  /** Where the published vehicles of each type are, by type id. */
  readonly uses: ReadonlyMap<string, TypeUse>;
  readonly hasStations: boolean;
  /** Whether a station has more vehicles than its counts by type add up to. */
  readonly hasUntypedCounts: boolean;
}

/** Builds `vehicle_types`. */
export function vehicleTypes(inputs: TypeInputs): Data<"vehicle_types"> {
  const { types, plans, uses, hasStations } = inputs;
  // Bikes without a type are published or counted with the type `UNSPECIFIED`, so that type is listed if such bikes exist.
  const isNamed = types.some(({ id }) => id === UNSPECIFIED);
  const isMissing = !isNamed && (uses.has(UNSPECIFIED) || inputs.hasUntypedCounts);
  const listed: readonly Known<TypeFacts>[] = isMissing
    ? sortById([...types, { id: UNSPECIFIED, facts: nothing }])
    : types;
  const records = listed.map(({ id, facts }) => {
    const others = facts.pricing_plan_ids?.filter((plan) => plans.has(plan)) ?? [];
    return {
      ...facts,
      vehicle_type_id: id,
      // GBFS cannot express an unknown type, and treats vehicles without a type as plain bicycles.
      form_factor: facts.form_factor ?? "bicycle",
      propulsion_type: facts.propulsion_type ?? "human",
      // GBFS requires a range for motorized types: 0 when it is unknown.
      max_range_meters: hasMotor(facts) ? (facts.max_range_meters ?? 0) : undefined,
      return_constraint: facts.return_constraint ?? usualReturn(hasStations, uses.get(id)),
      default_pricing_plan_id: idIfPublished(plans, facts.default_pricing_plan_id),
      pricing_plan_ids: others.length > 0 ? others : undefined,
    } as const;
  });
  return { vehicle_types: records };
}

/** Tells whether a type has a motor. An unknown propulsion counts as human, as it is published. */
function hasMotor({ propulsion_type: propulsion = "human" }: TypeFacts): boolean {
  return propulsion !== "human";
}

/** Up to this share of a type's vehicles may be at stations, or outside, without changing the type's return rule. */
const MAX_EXCEPTIONS_SHARE = 0.1;

/**
 * Derives the return rule of a type from where its vehicles are. Without a rule, trip planners let riders leave vehicles
 * anywhere. A small share of vehicles is ignored, so that one bike left in the street does not change the rule.
 */
function usualReturn(hasStations: boolean, use: TypeUse | undefined): "any_station" | "free_floating" | "hybrid" {
  if (!hasStations) return "free_floating";
  const { at_stations: docked, elsewhere } = use ?? { at_stations: 0, elsewhere: 0 };
  const all = docked + elsewhere;
  // A type without vehicles also counts as one of stations.
  if (elsewhere <= all * MAX_EXCEPTIONS_SHARE) return "any_station";
  return docked <= all * MAX_EXCEPTIONS_SHARE ? "free_floating" : "hybrid";
}

/** Returns an id if it is that of a published record; undefined otherwise, so that no reference leads nowhere. */
function idIfPublished(ids: Ids, id: string | null | undefined): string | undefined {
  return id !== null && id !== undefined && ids.has(id) ? id : undefined;
}

/** The facts of a record about which nothing is known. */
const nothing: Readonly<Record<string, never>> = {};

/** Returns the facts of a station or bike. A value that the operator gives replaces that of the source. */
function factsOf<Facts extends object>(row: { readonly source_facts: object | null }, own: Facts | undefined): Facts {
  // The import of a source stores its facts in canonical form.
  const said = (row.source_facts ?? nothing) as Facts;
  return own === undefined ? said : { ...said, ...own };
}

/** The data from which both feeds of stations are built. */
export interface StationInputs {
  readonly system: KnownSystem;
  readonly stations: readonly PublishedStation[];
  /** The operator's facts, by station id. */
  readonly facts: ReadonlyMap<string, StationFacts>;
}

/** Builds `station_information`. */
export function stationInformation(
  { system, stations, facts }: StationInputs,
  { regions, types }: { readonly regions: Ids; readonly types: Ids },
): Data<"station_information"> {
  const links = linkWriter(system.facts.station_links, "{station_id}", system.facts.rental_apps);
  const records = stations.map((station) => {
    const more = factsOf(station, facts.get(station.id));
    return {
      ...more,
      station_id: station.id,
      name: more.name ?? [{ text: station.name, language: mainLanguage(system) }],
      short_name: more.short_name ?? inMain(system, station.short_name),
      lat: station.lat,
      lon: station.lon,
      address: station.address ?? undefined,
      region_id: idIfPublished(regions, station.region_id),
      is_virtual_station: station.is_virtual_station,
      capacity: station.capacity ?? undefined,
      vehicle_types_capacity: ofKnownTypes(types, more.vehicle_types_capacity),
      vehicle_docks_capacity: ofKnownTypes(types, more.vehicle_docks_capacity),
      rental_uris: linksOf(links(station.id), more.rental_uris),
    };
  });
  return { stations: records };
}

/** Counts for sets of vehicle types, such as how many docks fit either of two types. */
type TypeCounts = StationFacts["vehicle_types_capacity"];

/** Returns counts without unpublished types; undefined when none remains. */
function ofKnownTypes(types: Ids, counts: TypeCounts): TypeCounts {
  const left = counts?.flatMap(({ vehicle_type_ids: ids = [], count }) => {
    const kept = ids.filter((id) => types.has(id));
    return kept.length === 0 ? [] : [{ vehicle_type_ids: kept, count }];
  });
  return left === undefined || left.length === 0 ? undefined : left;
}

/**
 * Returns a station's free docks. Limits them to the docks that the capacity leaves, unless the station's counters are
 * mirrored, that is taken from its feed: the feed counts the docks itself.
 */
function publishedDocks(station: PublishedStation): number | undefined {
  const { num_docks_available: docks, capacity } = station;
  if (docks === null) return undefined;
  if (capacity === null || station.counters === "mirrored") return docks;
  const { num_bikes_available: available, num_bikes_reserved: held, num_bikes_disabled: disabled } = station;
  const taken = available + held + (disabled ?? 0) + (station.num_docks_disabled ?? 0);
  return Math.max(0, Math.min(docks, capacity - taken));
}

/**
 * Returns the free docks for each set of vehicle types; undefined if the station's source does not count them, none of
 * the types is published, or the station's counters are not mirrored. If a type is in two sets, returns one count for each
 * type, with all docks that fit the type: OpenTripPlanner rejects a whole feed in which a station names a type twice.
 */
function publishedDocksOfTypes({ counters, vehicle_docks_available: docks }: PublishedStation, types: Ids): TypeCounts {
  const left = counters === "mirrored" && docks !== null ? ofKnownTypes(types, docks) : undefined;
  if (left === undefined) return undefined;
  const byType = new Map<string, number>();
  for (const { vehicle_type_ids: ids = [], count = 0 } of left)
    for (const id of ids) byType.set(id, (byType.get(id) ?? 0) + count);
  const namedTypes = left.flatMap(({ vehicle_type_ids: ids = [] }) => ids);
  const isEachNamedOnce = byType.size === namedTypes.length;
  if (isEachNamedOnce) return left;
  return [...byType].map(([id, count]) => ({ vehicle_type_ids: [id], count }));
}

/** Builds `station_status`. @param now milliseconds since 1970 */
export function stationStatus(
  { system, stations, facts }: StationInputs,
  types: Ids,
  now: number,
): Data<"station_status"> {
  const isOpen = openingOf(system, now);
  const records = stations.map((station) => {
    // A station that the operator has closed rents out no bikes, whatever its source reports.
    const isOnline = station.status === "online";
    const reportedAt = reported(station.last_reported) ?? Math.max(station.updated_at.getTime(), EARLIEST_MS);
    return {
      station_id: station.id,
      num_vehicles_available: station.num_bikes_available,
      vehicle_types_available: typesAvailable(station),
      num_vehicles_disabled: station.num_bikes_disabled ?? undefined,
      num_docks_available: publishedDocks(station),
      num_docks_disabled: station.num_docks_disabled ?? undefined,
      vehicle_docks_available: publishedDocksOfTypes(station, types),
      is_installed: station.is_installed,
      is_renting:
        isOnline && station.is_renting && isOpen(factsOf(station, facts.get(station.id)).station_opening_hours),
      is_returning: isOnline && station.is_returning,
      // GBFS requires the field, and rejects instants before GBFS existed.
      last_reported: instant(reportedAt),
    };
  });
  return { stations: records };
}

/**
 * Returns a function that tells whether a station is open now: by its own hours, or by the system's if it has none. Hours
 * that cannot be evaluated count as open.
 */
function openingOf(system: KnownSystem, now: number): (stationHours: string | undefined) => boolean {
  const time = localTime(now, timeZoneOf(system));
  const isOpen = new Map<string, boolean>();
  return (stationHours) => {
    const text = stationHours ?? system.facts.opening_hours ?? "24/7";
    const held = isOpen.get(text);
    if (held !== undefined) return held;
    const hours = hoursFrom(text);
    const found = hours === undefined || isOpenAt(hours, time);
    isOpen.set(text, found);
    return found;
  };
}

/** The data from which `vehicle_status` is built. */
export interface BikeInputs {
  readonly system: KnownSystem;
  readonly bikes: readonly PublishedBike[];
  /** The operator's facts, by private bike id. */
  readonly facts: ReadonlyMap<string, BikeFacts>;
  /** The facts of vehicle types, by type id. */
  readonly types: ReadonlyMap<string, TypeFacts>;
}

/** Builds `vehicle_status`. Names bikes by their public ids. */
export function vehicleStatus(
  { system, bikes, facts, types }: BikeInputs,
  { stations, plans }: { readonly stations: Ids; readonly plans: Ids },
): Data<"vehicle_status"> {
  const links = linkWriter(system.facts.vehicle_links, "{vehicle_id}", system.facts.rental_apps);
  const records = bikes.map((bike) => {
    const more = factsOf(bike, facts.get(bike.id));
    const hasPosition = bike.lat !== null && bike.lon !== null;
    const lastReported = reported(bike.last_reported);
    const type = bike.vehicle_type_id ?? UNSPECIFIED;
    return {
      vehicle_id: bike.public_id,
      lat: hasPosition ? bike.lat : undefined,
      lon: hasPosition ? bike.lon : undefined,
      is_reserved: bike.vehicle_state === "reserved",
      is_disabled: bike.vehicle_state === "non_operational",
      // The links of a source contain the source's vehicle id. They are left out once the vehicle belongs to the operator.
      rental_uris: linksOf(links(bike.public_id), bike.source === "operator" ? undefined : more.rental_uris),
      vehicle_type_id: type,
      last_reported: lastReported === undefined ? undefined : instant(lastReported),
      current_range_meters: rangeOf(bike, more, types.get(type) ?? nothing),
      current_fuel_percent: more.current_fuel_percent,
      station_id: bike.station_id ?? undefined,
      home_station_id: idIfPublished(stations, more.home_station_id),
      pricing_plan_id: idIfPublished(plans, more.pricing_plan_id),
      vehicle_equipment: more.vehicle_equipment,
      available_until: more.available_until,
    };
  });
  return { vehicles: records };
}

/**
 * Returns a vehicle's range in metres. For a motorized vehicle of unknown range, computes it from the fuel that is left and
 * the range of its type, or returns 0, because GBFS requires a range for it, and trip planners omit vehicles without one.
 * Undefined: the range is unknown, and the vehicle has no motor.
 */
function rangeOf(
  { current_range_meters: range }: PublishedBike,
  facts: BikeFacts,
  type: TypeFacts,
): number | undefined {
  if (range !== null) return range;
  if (!hasMotor(type)) return undefined;
  return Math.round((facts.current_fuel_percent ?? 0) * (type.max_range_meters ?? 0));
}

/** Returns when a station or bike last reported; undefined when that is unknown, or before GBFS existed. */
function reported(at: Date | null): number | undefined {
  const time = at?.getTime();
  return time === undefined || time < EARLIEST_MS ? undefined : time;
}

/** Writes an instant in RFC 3339, without fractions of a second. @param at milliseconds since 1970 */
export function instant(at: number): string {
  return `${new Date(at).toISOString().slice(0, -".000Z".length)}Z`;
}

/** Returns the available vehicles by type, so that their sum is the number of available vehicles. */
function typesAvailable({ vehicle_types_available: types, num_bikes_available }: PublishedStation) {
  let rest = num_bikes_available;
  // If the counts of the types exceed the number of vehicles, the counts of the last types are reduced.
  const fitting = types.map(({ vehicle_type_id, count }) => {
    const fits = Math.min(count, rest);
    rest -= fits;
    return { vehicle_type_id, count: fits };
  });
  if (rest === 0) return fitting;
  const unspecified = fitting.find((type) => type.vehicle_type_id === UNSPECIFIED)?.count ?? 0;
  const others = fitting.filter((type) => type.vehicle_type_id !== UNSPECIFIED);
  return [...others, { vehicle_type_id: UNSPECIFIED, count: unspecified + rest }];
}

/** Builds `system_regions`. @returns undefined when the system has no regions */
export function systemRegions(
  system: KnownSystem,
  regions: readonly Known<RegionFacts>[],
): Data<"system_regions"> | undefined {
  if (regions.length === 0) return undefined;
  return { regions: regions.map(({ id, facts }) => ({ region_id: id, name: facts.name ?? inMain(system, id) })) };
}

/** Builds `system_pricing_plans`. @returns undefined when the system has no plans */
export function systemPricingPlans(plans: readonly Known<PlanFacts>[]): Data<"system_pricing_plans"> | undefined {
  if (plans.length === 0) return undefined;
  return { plans: plans.map(({ id, facts }) => ({ ...facts, plan_id: id })) };
}

/**
 * Builds `system_alerts`. Leaves out stations and regions that are not published, and alerts whose stations and regions are
 * all left out.
 */
export function systemAlerts(
  alerts: readonly AlertFacts[],
  { stations, regions }: { readonly stations: Ids; readonly regions: Ids },
): Data<"system_alerts"> {
  return {
    alerts: alerts.flatMap((alert) => {
      const { station_ids = [], region_ids = [], ...more } = alert;
      const kept = {
        station_ids: station_ids.filter((id) => stations.has(id)),
        region_ids: region_ids.filter((id) => regions.has(id)),
      };
      const keptCount = kept.station_ids.length + kept.region_ids.length;
      if (keptCount === 0 && station_ids.length + region_ids.length > 0) return [];
      return [
        {
          ...more,
          ...(kept.station_ids.length > 0 && { station_ids: kept.station_ids }),
          ...(kept.region_ids.length > 0 && { region_ids: kept.region_ids }),
        },
      ];
    }),
  };
}

/** Builds `system_hours`. @returns undefined when the opening hours are unknown, or GBFS 2.3 cannot express them */
export function systemHours(system: KnownSystem): Data<"system_hours"> | undefined {
  const { rental_hours: said } = system.saidHours ?? {};
  if (said !== undefined) return { rental_hours: said };
  const plain = givenHours(system);
  return plain && { rental_hours: plain.rental_hours };
}

/** Builds `system_calendar`. @returns undefined when the system has no season */
export function systemCalendar(system: KnownSystem): Data<"system_calendar"> | undefined {
  const { calendars: said } = system.saidHours ?? {};
  if (said !== undefined) return { calendars: said };
  const season = givenHours(system)?.season;
  if (season === undefined) return undefined;
  // A date is month × 100 + day.
  const { start, end } = season;
  const calendar = {
    start_month: Math.floor(start / 100),
    start_day: start % 100,
    end_month: Math.floor(end / 100),
    end_day: end % 100,
  };
  return { calendars: [calendar] };
}

/** Returns the system's opening hours in the form of GBFS 2.3; undefined when they are unknown or cannot be expressed. */
function givenHours({ facts }: KnownSystem) {
  const hours: Hours | undefined = facts.opening_hours === undefined ? undefined : hoursFrom(facts.opening_hours);
  return hours && plainHours(hours);
}
