import { type FactChanges, type FactKind, factKinds, type Facts, type FactsOf } from "@bikeshare/contract";
import { FactIssue, readFactValue } from "./fact-values.rules.ts";
import type { Described } from "./published-facts.rules.ts";

/*
 * Facts describe a system and its things for GBFS: the system's time zone, a vehicle type's range, a pricing plan's prices.
 * This file reads the facts of sources from their feeds, and changes and checks the facts of the operator. `said` names what
 * sources give, `own` what the operator has set, `published` what readers get of both.
 */

/** The content of a source's descriptive feed, in canonical form. */
export interface SaidFeed {
  readonly feed: string;
  readonly content: unknown;
}

/** Values of facts or of a feed's record, by name. */
type Values = Readonly<Record<string, unknown>>;

/** For each kind whose things a feed lists by id: the feed, and its field with the id. */
const feeds = {
  vehicle_type: { feed: "vehicle_types", id: "vehicle_type_id" },
  region: { feed: "system_regions", id: "region_id" },
  pricing_plan: { feed: "system_pricing_plans", id: "plan_id" },
} as const;

/** Returns the feeds that describe things of a kind; none for stations and bikes, whose rows have their facts. */
export function feedsOfKind(kind: FactKind) {
  switch (kind) {
    case "system":
      return ["system_information", "system_hours", "system_calendar"] as const;
    case "geofencing_zones":
      return ["geofencing_zones"] as const;
    case "station":
    case "bike":
      return [] as const;
    default:
      return [feeds[kind].feed] as const;
  }
}

/**
 * Returns the sources' facts of each thing of a kind, by id, the first source first. They include GBFS fields that the
 * operator cannot set, which are published unchanged.
 */
export function saidOfKind<Kind extends FactKind>(kind: Kind, said: readonly SaidFeed[]): Map<string, FactsOf<Kind>[]> {
  const byId = new Map<string, FactsOf<Kind>[]>();
  // The cast is safe, because `readDescription` stores only valid records of this kind.
  const add = (id: string, record: Values) => byId.set(id, [...(byId.get(id) ?? []), record as FactsOf<Kind>]);
  // A system has one description and one set of zones, so these have no id: it is empty here.
  for (const { feed, content } of said) {
    if (kind === "system" && feed === "system_information") add("", systemRecord(content as Values));
    if (kind === "system" && feed === "system_hours") add("", { rental_hours: content });
    if (kind === "system" && feed === "system_calendar") add("", { calendars: content });
    if (kind === "geofencing_zones" && feed === "geofencing_zones") add("", content as Values);
    const records = kind in feeds ? feeds[kind as keyof typeof feeds] : undefined;
    if (records?.feed !== feed) continue;
    for (const { [records.id]: id, ...record } of content as readonly Values[]) {
      if (typeof id === "string") add(id, record);
    }
  }
  return byId;
}

/**
 * Converts GBFS's record of a system (`system_information`) to facts: one fact may replace two GBFS fields. Omits the
 * source's id.
 */
function systemRecord({ system_id: _, languages, license_id, license_url, ...system }: Values): Values {
  const [language] = (languages ?? []) as readonly unknown[];
  return { ...system, language: system["language"] ?? language, licence: license_id ?? license_url };
}

/**
 * Returns the operator's facts after changes: null removes a fact, an omitted fact stays.
 * @param language the language of texts that name none
 * @throws FactIssue for a value that GBFS does not allow, and for a fact that things of the kind do not have
 */
export function applyChanges<Kind extends FactKind>(
  kind: Kind,
  held: FactsOf<Kind>,
  changes: FactChanges<Kind>,
  language: string,
): FactsOf<Kind> {
  const facts: Facts = factKinds[kind];
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  // When the changes also set the main language, their texts are in that language.
  const { language: chosen } = changes as { readonly language?: unknown };
  const type = kind === "system" && typeof chosen === "string" ? facts["language"]?.type : undefined;
  const main = type === undefined ? language : String(readFactValue(type, chosen, "language", language));
  const read = given.map(([name, value]) => {
    const fact = facts[name];
    if (fact === undefined) throw new FactIssue(name, value, `left out: there are ${Object.keys(facts).join(", ")}`);
    return [name, value === null ? undefined : readFactValue(fact.type, value, name, main)] as const;
  });
  const changed = { ...held, ...Object.fromEntries(read) };
  return Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined)) as FactsOf<Kind>;
}

/** The ids that facts may refer to. */
export interface KnownIds {
  readonly plans: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
}

/**
 * Checks that the published facts are complete, and that the operator's facts are consistent. Hardly checks the facts of
 * sources, because the GBFS feeds leave out those that are not valid.
 * @throws FactIssue when a required fact is missing, or a fact of the operator does not fit
 */
export function requireFitting<Kind extends FactKind>(
  kind: Kind,
  { own, published }: Pick<Described<Kind>, "own" | "published">,
  known: KnownIds,
): void {
  const facts: Facts = factKinds[kind];
  const values = published as Readonly<Record<string, unknown>>;
  const missing = Object.keys(facts).find((name) => facts[name]?.required === true && values[name] === undefined);
  if (missing !== undefined) throw new FactIssue(missing, undefined, `given: ${facts[missing]?.about ?? ""}`);
  fitting[kind]?.(own, known, published);
}

/** Checks facts of a kind. @throws FactIssue */
type Fitting<Kind extends FactKind> = (own: FactsOf<Kind>, known: KnownIds, published: FactsOf<Kind>) => void;

/**
 * The checks of the operator's facts (`own`), by kind: against each other, against the known ids, and for a system against
 * the published facts, which sources may have given. A kind without an entry has none.
 */
const fitting: { readonly [Kind in FactKind]?: Fitting<Kind> } = {
  system({ station_links, vehicle_links }, _, { rental_apps, start_date: start, termination_date: end }) {
    requirePlaceholder("station_links", station_links, "{station_id}", rental_apps);
    requirePlaceholder("vehicle_links", vehicle_links, "{vehicle_id}", rental_apps);
    if (start !== undefined && end !== undefined && end < start) {
      throw new FactIssue("termination_date", end, `a day after start_date, ${start}`);
    }
  },
  vehicle_type(type, { plans }) {
    requireKnown("default_pricing_plan_id", [type.default_pricing_plan_id], plans, "pricing plan");
    requireKnown("pricing_plan_ids", type.pricing_plan_ids ?? [], plans, "pricing plan");
  },
  bike(bike, { plans }) {
    requireKnown("pricing_plan_id", [bike.pricing_plan_id], plans, "pricing plan");
  },
  station(station, { types }) {
    for (const name of ["vehicle_types_capacity", "vehicle_docks_capacity"] as const) {
      const ids = station[name]?.flatMap((each) => each.vehicle_type_ids ?? []) ?? [];
      requireKnown(name, ids, types, "vehicle type");
    }
  },
  pricing_plan(plan) {
    const { reservation_price_per_min: perMinute, reservation_price_flat_rate: flat } = plan;
    if (perMinute !== undefined && flat !== undefined) {
      throw new FactIssue(
        "reservation_price_flat_rate",
        flat,
        "left out beside reservation_price_per_min: GBFS takes one",
      );
    }
    for (const name of ["per_min_pricing", "per_km_pricing"] as const) {
      plan[name]?.forEach(({ start = 0, end }, index) => {
        if (end !== undefined && end <= start) {
          throw new FactIssue(`${name}[${index}].end`, end, `more than its start, ${start}`);
        }
      });
    }
  },
  geofencing_zones(zones, { types }) {
    zones.features?.forEach(({ properties = {} }, index) => {
      const path = `features[${index}].properties`;
      // OpenTripPlanner rejects the whole feed when a zone has no rule.
      if ((properties.rules ?? []).length === 0) throw new FactIssue(`${path}.rules`, [], "one or more rules");
      const ids = properties.rules?.flatMap((rule) => rule.vehicle_type_ids ?? []) ?? [];
      requireKnown(`${path}.rules`, ids, types, "vehicle type");
      const { start, end } = properties;
      if (start !== undefined && end !== undefined && end <= start) {
        throw new FactIssue(`${path}.end`, end, `after its start, ${start}`);
      }
    });
  },
};

/** Returns the ids of the vehicle types that the rules of zones and the global rules name, in the field of any version. */
export function typesOfZones({ features = [], global_rules: rules = [] }: FactsOf<"geofencing_zones">): string[] {
  return [...features.flatMap(({ properties }) => properties?.rules ?? []), ...rules].flatMap(
    ({ vehicle_type_ids: ids = [], vehicle_type_id: olderIds = [] }) => [...ids, ...olderIds],
  );
}

type Links = FactsOf<"system">["station_links"];

type Apps = FactsOf<"system">["rental_apps"];

/** Checks that each link contains a placeholder, and that each app with a link has its address in the app store. */
function requirePlaceholder(name: string, links: Links, placeholder: string, apps: Apps): void {
  for (const [where, address = ""] of Object.entries({ ...links })) {
    if (!address.includes(placeholder)) {
      throw new FactIssue(`${name}.${where}`, address, `an address with ${placeholder} in it`);
    }
    if (where !== "web" && apps?.[where as "ios" | "android"]?.store_uri === undefined) {
      throw new FactIssue(
        `rental_apps.${where}.store_uri`,
        undefined,
        `given: GBFS requires it beside ${name}.${where}`,
      );
    }
  }
}

/** Checks that every id is known. @param noun the kind of thing that the ids name, for the message. @throws FactIssue */
function requireKnown(
  name: string,
  ids: readonly (string | undefined)[],
  known: ReadonlySet<string>,
  noun: string,
): void {
  const unknown = ids.find((id) => id !== undefined && !known.has(id));
  if (unknown === undefined) return;
  const there = known.size === 0 ? "there is none yet" : `there are ${[...known].slice(0, 20).join(", ")}`;
  throw new FactIssue(name, unknown, `the id of a ${noun}: ${there}`);
}
