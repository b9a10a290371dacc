import { isObject } from "./values.ts";

// Records that name others: a plan, a vehicle type, a station or a region. What is not there is never published.

/** The kinds of records that others name, by the feed that has them. */
export type Named = "system_pricing_plans" | "vehicle_types" | "station_information" | "system_regions";

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
