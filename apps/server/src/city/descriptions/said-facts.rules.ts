import type { FactKind, FactsOf } from "@bikeshare/contract";

/** The content of a source's descriptive feed, in canonical form. */
export interface SaidFeed {
  readonly feed: string;
  readonly content: unknown;
}

type Values = Readonly<Record<string, unknown>>;

/** The feed that describes the things of a kind, and the name of their id in it. */
const feeds: { readonly [Kind in FactKind]?: { readonly feed: string; readonly id: string } } = {
  vehicle_type: { feed: "vehicle_types", id: "vehicle_type_id" },
  region: { feed: "system_regions", id: "region_id" },
  pricing_plan: { feed: "system_pricing_plans", id: "plan_id" },
};

/**
 * Returns what sources say of each thing of a kind, by its id, the first source first. It has fields of GBFS that the
 * operator cannot set as well: they are published as they are.
 */
export function saidOfKind<Kind extends FactKind>(kind: Kind, said: readonly SaidFeed[]): Map<string, FactsOf<Kind>[]> {
  const byId = new Map<string, FactsOf<Kind>[]>();
  // The records are those of this kind, as `readDescription` stores them.
  const add = (id: string, record: Values) => byId.set(id, [...(byId.get(id) ?? []), record as FactsOf<Kind>]);
  for (const { feed, content } of said) {
    if (kind === "system" && feed === "system_information") add("", systemRecord(content as Values));
    if (kind === "geofencing_zones" && feed === "geofencing_zones") add("", content as Values);
    const records = feeds[kind];
    if (records?.feed !== feed) continue;
    for (const { [records.id]: id, ...record } of content as readonly Values[]) {
      if (typeof id === "string") add(id, record);
    }
  }
  return byId;
}

/** One fact stands for two fields of GBFS, in either case. The source's id is a fact of the deployment's first source alone. */
function systemRecord({ system_id: _, languages, license_id, license_url, ...system }: Values): Values {
  const [language] = (languages ?? []) as readonly unknown[];
  return { ...system, language: system["language"] ?? language, licence: license_id ?? license_url };
}
