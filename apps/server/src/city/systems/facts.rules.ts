import licences from "spdx-license-ids/index.json" with { type: "json" };
import { emailFrom, languageFrom, timeZoneFrom } from "./fact-values.rules.ts";
import { openingHoursFrom } from "./opening-hours.rules.ts";
import type { Said } from "./said.ts";

/** The facts of a system, under GBFS's names where it has one. */
interface SystemFacts {
  /** The name that riders know the system by. */
  readonly name: string;
  /** An IANA time zone. */
  readonly timezone: string;
  /** A BCP 47 tag as GBFS takes it: a language, and a country where one is given. */
  readonly language: string;
  /** Where whoever reads the feeds may write to. */
  readonly feed_contact_email: string;
  /** In the words of OpenStreetMap's `opening_hours`. */
  readonly opening_hours: string;
  /** Who runs the system. */
  readonly operator: string;
  readonly url: string;
  /** Of the feeds: an SPDX identifier or an address. */
  readonly licence: string;
}

export type FactName = keyof SystemFacts;

/** The validation of a fact. */
interface FactRule {
  /** The value in its usual writing; undefined when the text is none. */
  readonly read: (text: string) => string | undefined;
  readonly expected: string;
}

/** Most characters of a fact. */
const MAX_LENGTH = 255;

/** Every fact, and what it may be. */
export const factRules: Readonly<Record<FactName, FactRule>> = {
  name: { read: line, expected: `one line of up to ${MAX_LENGTH} characters` },
  timezone: { read: regionalZone, expected: "an IANA time zone such as Europe/Oslo" },
  language: { read: language, expected: "a BCP 47 language tag such as nb or en-GB" },
  feed_contact_email: { read: emailFrom, expected: "a mail address such as feeds@bikes.example" },
  opening_hours: { read: openingHoursFrom, expected: "hours as OpenStreetMap writes them, such as Mo-Su 05:00-24:00" },
  operator: { read: line, expected: `one line of up to ${MAX_LENGTH} characters` },
  url: { read: webAddress, expected: "an address that begins with https:// or http://" },
  licence: { read: licenceFrom, expected: "an SPDX identifier such as CC-BY-4.0, or the address of the licence" },
};

export const factNames = Object.keys(factRules) as FactName[]; // the keys are those of the record

function line(text: string): string | undefined {
  const trimmed = text.trim();
  const isLine = trimmed !== "" && trimmed.length <= MAX_LENGTH && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(trimmed);
  return isLine ? trimmed : undefined;
}

/** Zones such as `EST` are fixed offsets: an operator who enters one means a region that also has summer time. */
function regionalZone(text: string): string | undefined {
  const zone = timeZoneFrom(text);
  return zone !== undefined && (zone === "UTC" || /^\w+\/./.test(text.trim())) ? zone : undefined;
}

function language(text: string): string | undefined {
  try {
    // `Intl` knows what is well-formed, GBFS takes its first parts.
    const [canonical] = Intl.getCanonicalLocales(text.trim().replaceAll("_", "-"));
    return languageFrom(canonical);
  } catch {
    return undefined;
  }
}

function webAddress(text: string): string | undefined {
  const url = URL.parse(text.trim());
  const isWeb = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  return isWeb && url.href.length <= 2000 ? url.href : undefined;
}

/** The version of the SPDX list to which GBFS 3.0 refers. A newer licence needs its address instead. */
const licenceByLowerCase = new Map(licences.map((id) => [id.toLowerCase(), id]));

function licenceFrom(text: string): string | undefined {
  return licenceByLowerCase.get(text.trim().toLowerCase()) ?? webAddress(text);
}

/** Tells whether a licence is named by its SPDX identifier. */
export function isLicenceId(licence: string): boolean {
  return !licence.includes(":");
}

/** The facts that the operator has set for a system; null: not set. */
export type OperatorFacts = { readonly system_id: string } & { readonly [Name in FactName]: string | null };

/** The facts that apply to a system. */
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

/** A word that is said of a system, and who says it. */
interface SaidFact {
  readonly value: string;
  readonly from: "operator" | "source";
}

/** Returns the operator's word on a fact, else that of the first source which has one; undefined where nobody says it. */
function findFact(fact: FactName, own: OperatorFacts, sources: readonly Said[]): SaidFact | undefined {
  const systems = sources.flatMap((said) => (said.feed === "system_information" ? [said.content] : []));
  const wordOf = (system: (typeof systems)[number]) => (fact in system ? system[fact as keyof typeof system] : null);
  const words = [
    { word: own[fact], from: "operator" as const },
    ...systems.map((system) => ({ word: wordOf(system), from: "source" as const })),
  ];
  // Each word is read again: a wrong one in the database must cost that word, not the validity of the feed.
  for (const { word, from } of words) {
    const value = word === null ? undefined : meaningOf(fact, word);
    if (value !== undefined) return { value, from };
  }
  return undefined;
}

/** Defaults for facts that neither the operator nor a feed provides. */
const defaults: Partial<Record<FactName, string>> = { language: "en", timezone: "UTC", opening_hours: "24/7" };

/** A fact as it is published, what the operator says, and where the one comes from. */
export interface FactOrigin {
  readonly value: string | null;
  readonly own: string | null;
  readonly from: "operator" | "source" | "default" | "nobody";
}

/** Every fact of a system with its origin. */
export function factOrigins(own: OperatorFacts, sources: readonly Said[]): Readonly<Record<FactName, FactOrigin>> {
  const originOf = (name: FactName): FactOrigin => {
    const standIn = name === "name" ? own.system_id : defaults[name];
    const unsaid = { value: standIn ?? null, from: standIn === undefined ? "nobody" : "default" } as const;
    return { own: own[name], ...(findFact(name, own, sources) ?? unsaid) };
  };
  return Object.fromEntries(factNames.map((name) => [name, originOf(name)])) as Record<FactName, FactOrigin>;
}

/**
 * What holds of a system: the operator's word, else that of the first source which has one, else a default: English,
 * UTC, always open.
 */
export function systemDetails(own: OperatorFacts, sources: readonly Said[]): SystemDetails {
  const origins = factOrigins(own, sources);
  const { feed_contact_email, operator, url, licence } = origins;
  const published = (fact: FactName): string => origins[fact].value ?? "";
  return {
    id: own.system_id,
    name: published("name"),
    language: published("language"),
    timezone: published("timezone"),
    opening_hours: published("opening_hours"),
    feed_contact_email: feed_contact_email.value,
    operator: operator.value,
    url: url.value,
    licence: licence.value,
    missing: WANTED.filter((fact) => origins[fact].from === "default" || origins[fact].from === "nobody"),
  };
}

/** Returns a stored text as the field's value. A source's texts are parsed as leniently as its feed. */
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
