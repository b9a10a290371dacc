import type { SourceDescription } from "../feeds/gbfs/source-descriptions.ts";
import { emailFrom, languageFrom, timeZoneFrom } from "../feeds/gbfs/values.ts";
import { type FactName, factRules, type SystemFacts } from "./facts.rules.ts";

/** What the operator says of a system; null: nothing. */
export type OperatorFacts = { readonly system_id: string } & { readonly [Name in FactName]: string | null };

/** What holds of a system. */
export interface SystemDetails extends Pick<SystemFacts, "name" | "language" | "timezone" | "opening_hours"> {
  readonly id: string;
  /** Null: nobody said. */
  readonly feed_contact_email: string | null;
  readonly operator: string | null;
  readonly url: string | null;
  readonly licence: string | null;
  /** Facts that GBFS asks for and nobody said: a default stands in for each. */
  readonly missing: readonly FactName[];
}

/** Facts that are worth asking the operator for: without them readers are told a default. */
const WANTED = ["name", "timezone", "language", "feed_contact_email"] as const satisfies readonly FactName[];

/**
 * What holds of a system: the operator's word, else that of the first source which has one, else a default: English,
 * UTC, always open.
 */
export function systemDetails(own: OperatorFacts, sources: readonly SourceDescription[]): SystemDetails {
  const systems = sources.flatMap((said) => (said.feed === "system_information" ? [said.content] : []));
  const said = (fact: FactName): string | null => {
    const words = [
      own[fact],
      ...systems.map((system) => (fact in system ? system[fact as keyof typeof system] : null)),
    ];
    // Each word is read again: a wrong one in the database must cost that word, not the validity of the feed.
    for (const word of words) {
      const read = word === null ? undefined : meaningOf(fact, word);
      if (read !== undefined) return read;
    }
    return null;
  };
  const id = own.system_id;
  return {
    id,
    name: said("name") ?? id,
    language: said("language") ?? "en",
    timezone: said("timezone") ?? "UTC",
    opening_hours: said("opening_hours") ?? "24/7",
    feed_contact_email: said("feed_contact_email"),
    operator: said("operator"),
    url: said("url"),
    licence: said("licence"),
    missing: WANTED.filter((fact) => said(fact) === null),
  };
}

/** What a word that is stored means: sources' are taken as generously as their feeds are read. */
function meaningOf(fact: FactName, word: string): string | undefined {
  switch (fact) {
    case "timezone":
      return timeZoneFrom(word);
    case "language":
      return languageFrom(word);
    case "feed_contact_email":
      return emailFrom(word);
    case "url":
    case "licence":
      return factRules[fact].read(word);
    default:
      return word === "" ? undefined : word;
  }
}
