import type { SourceDescription } from "../gbfs/description-queries.ts";
import type { Region, SystemDescription, VehicleType } from "../gbfs/descriptions.ts";
import { emailFrom, languageFrom, timeZoneFrom } from "../gbfs/values.ts";

/** What the operator says of a system; null: nothing. */
export interface OperatorDescription extends Omit<SystemDescription, "name"> {
  readonly system_id: string;
  /** The id where nobody gave it a name. */
  readonly name: string;
}

/** What is published of a system as a whole. */
export interface SystemDetails {
  readonly id: string;
  readonly name: string;
  readonly language: string;
  readonly timezone: string;
  /** Null: nobody said. */
  readonly feedContactEmail: string | null;
  /** In the words of OpenStreetMap's `opening_hours`. */
  readonly openingHours: string;
  readonly vehicleTypes: ReadonlyMap<string, VehicleType>;
  readonly regions: ReadonlyMap<string, Region>;
}

/**
 * What holds of a system: the operator's word, else that of the first source which has one, else a default: English,
 * UTC, always open.
 */
export function systemDetails(operator: OperatorDescription, sources: readonly SourceDescription[]): SystemDetails {
  const systems = sources.flatMap((said) => (said.feed === "system_information" ? [said.content] : []));
  const types = sources.flatMap((said) => (said.feed === "vehicle_types" ? said.content : []));
  const regions = sources.flatMap((said) => (said.feed === "system_regions" ? said.content : []));
  const first = (
    field: keyof SystemDescription,
    own: string | null,
    meaning: (value: unknown) => string | undefined,
  ) => {
    // Each word is read again: a wrong one in the database must cost that word, not the validity of the feed.
    for (const word of [own, ...systems.map((system) => system[field])]) {
      const read = meaning(word);
      if (read !== undefined) return read;
    }
    return undefined;
  };
  const name = operator.name === operator.system_id ? null : operator.name;
  return {
    id: operator.system_id,
    name: first("name", name, givenText) ?? operator.system_id,
    language: first("language", operator.language, languageFrom) ?? "en",
    timezone: first("timezone", operator.timezone, timeZoneFrom) ?? "UTC",
    feedContactEmail: first("feed_contact_email", operator.feed_contact_email, emailFrom) ?? null,
    openingHours: first("opening_hours", operator.opening_hours, givenText) ?? "24/7",
    vehicleTypes: firstById(types),
    regions: firstById(regions),
  };
}

function givenText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function firstById<Item extends { readonly id: string }>(items: readonly Item[]): ReadonlyMap<string, Item> {
  // Of two with one id a map keeps the last.
  return new Map(items.toReversed().map((item) => [item.id, item]));
}
