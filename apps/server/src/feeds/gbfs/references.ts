import { isObject } from "./values.ts";

/*
 * References between records of feeds, such as from a vehicle to its pricing plan. `report.ts` reports those references of a
 * snapshot whose record the source does not have. The service never publishes a reference to a missing record.
 */

/** A feed with records to which other records refer. */
export type ReferredFeed = "system_pricing_plans" | "vehicle_types" | "station_information" | "system_regions";

/**
 * Fields that refer to another record, and the feed of that record. A vehicle's `vehicle_type_id` and a station's
 * `region_id` are not among them, because a type or region that is in use exists even if no feed describes it.
 */
const references: Readonly<Record<string, ReferredFeed>> = {
  default_pricing_plan_id: "system_pricing_plans",
  pricing_plan_ids: "system_pricing_plans",
  pricing_plan_id: "system_pricing_plans",
  vehicle_type_ids: "vehicle_types",
  home_station_id: "station_information",
  station_ids: "station_information",
  region_ids: "system_regions",
};

/** Maximum references that are collected of one document. Too high: a feed of random ids fills the memory. */
const MAX_REFERENCES = 1_000;

/** A reference to the record with the id `id` of the feed `to`. */
export interface Reference {
  readonly to: ReferredFeed;
  readonly id: string;
  /** The id of the record that contains the reference; null: it has no id. */
  readonly record: string | null;
  readonly field: string;
}

/** Collects the references of a document. Keeps only the first reference to each record. */
export class References {
  readonly #found = new Map<string, Reference>();

  /** Adds the references in a value in canonical form, at any depth. */
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
