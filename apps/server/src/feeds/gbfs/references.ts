import type { Problem } from "./problems.ts";
import type { GbfsSnapshot, SourceSnapshot } from "./snapshot.ts";
import { isObject } from "./values.ts";

// Records that name others: a plan, a vehicle type, a station or a region. What is not there is never published.

/** The kinds of records that others name, by the feed that has them. */
type Named = "system_pricing_plans" | "vehicle_types" | "station_information" | "system_regions";

/** Fields that name another record. A type that a vehicle has, and a region that a station is in, are there by that. */
const references: Readonly<Record<string, Named>> = {
  default_pricing_plan_id: "system_pricing_plans",
  pricing_plan_ids: "system_pricing_plans",
  pricing_plan_id: "system_pricing_plans",
  vehicle_type_ids: "vehicle_types",
  home_station_id: "station_information",
  station_ids: "station_information",
  region_ids: "system_regions",
};

/** Limits the references of a document that are remembered. Too high: a feed of random ids fills the memory. */
const MAX_REFERENCES = 1_000;

/** A record that names another one; of several that name the same, the first. */
export interface Reference {
  readonly to: Named;
  readonly id: string;
  readonly record: string | null;
  readonly field: string;
}

/** The references of a document, each once. */
export class References {
  readonly #found = new Map<string, Reference>();

  /** Notes what a value in canonical form names, at any depth. */
  note(record: string | null, value: unknown): void {
    if (Array.isArray(value)) for (const item of value) this.note(record, item);
    if (!isObject(value)) return;
    for (const [field, content] of Object.entries(value)) {
      const to = references[field];
      if (to === undefined) {
        if (typeof content === "object") this.note(record, content);
      } else
        for (const id of Array.isArray(content) ? content : [content]) this.#add({ to, id: String(id), record, field });
    }
  }

  #add(reference: Reference): void {
    const key = `${reference.to} ${reference.id}`;
    if (this.#found.size < MAX_REFERENCES && !this.#found.has(key)) this.#found.set(key, reference);
  }

  list(): readonly Reference[] {
    return [...this.#found.values()];
  }
}

/** Returns the references of a snapshot to records that its source does not have. */
export function unknownReferences({ snapshot, failures, isWhole = false }: SourceSnapshot): Problem[] {
  const { information, status, vehicles, descriptions = [] } = snapshot;
  const found = [
    ...[information, status, vehicles].flatMap(
      (feed) => feed?.references.map((each) => ({ feed: feed.name, ...each })) ?? [],
    ),
    ...descriptions.flatMap((feed) => feed.references.map((each) => ({ feed: feed.feed, ...each }))),
  ];
  const known = new Map<Named, ReadonlySet<string> | undefined>();
  for (const { to } of found) if (!known.has(to)) known.set(to, knownIds(to));

  /** Undefined: the feed that has them is not in the snapshot, because it has not changed or cannot be read. */
  function knownIds(feed: Named): ReadonlySet<string> | undefined {
    const described = descriptions.find((each) => each.feed === feed)?.ids;
    const ids = feed === "station_information" ? information?.records.keys() : described;
    const isThereNone = isWhole && !failures.some((failure) => failure.feed === feed);
    return ids === undefined && !isThereNone
      ? undefined
      : new Set([...(ids ?? []), ...idsInUse(feed, snapshot)].filter((id) => id !== null));
  }

  return found
    .filter(({ to, id }) => known.get(to)?.has(id) === false)
    .map(({ feed, record, field, id }) => ({
      feed,
      record,
      field,
      value: id,
      reason: "unknown_reference",
      action: "repaired",
    }));
}

/** The types of vehicles and the regions of stations are there, whether or not a feed describes them. */
function idsInUse(feed: Named, { information, status, vehicles }: GbfsSnapshot): (string | null)[] {
  if (feed === "system_regions") return [...(information?.records.values() ?? [])].map((station) => station.region_id);
  if (feed !== "vehicle_types") return [];
  const atStations = [...(status?.records.values() ?? [])].flatMap((station) =>
    typesIn(station.vehicle_types_available),
  );
  return [...atStations, ...[...(vehicles?.records.values() ?? [])].map((vehicle) => vehicle.vehicle_type_id)];
}

function typesIn(json: string): string[] {
  const types = JSON.parse(json) as { vehicle_type_id: string }[]; // as `typesAvailable` writes it
  return types.map((type) => type.vehicle_type_id);
}
