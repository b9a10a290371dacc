import type { FactKind, FactsOf } from "@bikeshare/contract";

/** The content of a source's descriptive feed, in canonical form. */
export interface SaidFeed {
  readonly feed: string;
  readonly content: unknown;
}

type Values = Readonly<Record<string, unknown>>;

/** The feed that describes each kind of thing, and the feed's field with the id. */
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
  // `readDescription` stores the records of this kind.
  const add = (id: string, record: Values) => byId.set(id, [...(byId.get(id) ?? []), record as FactsOf<Kind>]);
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

/** Converts a system's record to facts: one fact stands for two GBFS fields. Omits the source's id. */
function systemRecord({ system_id: _, languages, license_id, license_url, ...system }: Values): Values {
  const [language] = (languages ?? []) as readonly unknown[];
  return { ...system, language: system["language"] ?? language, licence: license_id ?? license_url };
}
