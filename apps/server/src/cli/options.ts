import { givenIdentifier, isScope, type Scope, scopeNames } from "@bikeshare/contract";
import { isPlainName, issueText } from "@bikeshare/contract/pure";
import { Option } from "@commander-js/extra-typings";
import type { z } from "zod";
import { languageFrom } from "../city/descriptions/lenient-values.rules.ts";
import { OPERATOR } from "../city/fleet/station.rules.ts";
import { shellWord } from "../printable.ts";
import { duration, integer } from "../runtime/startup/values.ts";

/* Options that several commands have, and readers of the values of options and arguments. */

/**
 * A command was called wrongly: with an unknown word or value, without an option that it needs, or with options that exclude
 * each other. The message says what to write instead.
 */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Returns an option whose value `parse` reads; a wrong value is a usage error that names the option. */
export function option<Flags extends string, Value>(flags: Flags, description: string, parse: (text: string) => Value) {
  const [name = flags] = flags.split(" ");
  return new Option(flags, description).argParser((text): Value => readValue(name, text, parse));
}

/** `--partner`, which names an endpoint by its partner. */
export const partnerOption = ["--partner <id>", "the partner whose endpoint it is"] as const;

/** `--endpoint`, which may be left out if the partner has only one. */
export const endpointOption = ["--endpoint <id>", "its id or name, where the partner has several"] as const;

/** Returns ` --endpoint <id>` for a command that a message suggests; empty if the user's own command named no endpoint. */
export function endpointWords(endpoint: string | undefined): string {
  return endpoint === undefined ? "" : ` --endpoint ${shellWord(endpoint)}`;
}

/** `--limit`: the maximum number of rows of a list. @param usual the default */
export function limitOption(maximum: number, usual: number) {
  return option("--limit <n>", `maximum number of rows, 1 to ${maximum}`, integer(1, maximum)).default(usual);
}

/** `--overlap`: how long an old key or secret stays valid beside its successor. */
export function overlapOption(description: string, maxDays: number) {
  const parse = duration("0h", `${maxDays}d`);
  return option("--overlap <duration>", `${description}: 0h to ${maxDays}d`, parse).default(parse("24h"), "24h");
}

/**
 * Reads a value given on the command line.
 * @param name the value's name in the message
 * @param parse throws an Error whose message continues "it …"
 */
export function readValue<Value>(name: string, text: string, parse: (text: string) => Value): Value {
  try {
    return parse(text);
  } catch (error) {
    throw new UsageError(`${name} is ${quoted(text)}: it ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** Maximum characters of a wrong value that a message repeats. */
const MAX_QUOTED_LENGTH = 100;

function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED_LENGTH ? `${text.slice(0, MAX_QUOTED_LENGTH)}…` : text);
}

/** Returns a reader of comma-separated lists. @param parse reads each part */
export function listOf<Part>(parse: (text: string) => Part): (text: string) => Part[] {
  return (text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "")
      .map(parse);
}

/** A language, such as `nb` or `en-GB`, and a text after `=`. */
const IN_LANGUAGE = /^([a-z]{2,3}(?:-[a-z]{2})?)=(.*)$/is;

/**
 * Reads the values of an option that may be repeated: a text in the system's main language, or one in each of several
 * languages, such as `nb=Stengt`.
 * @param name the option, for the message
 * @throws UsageError when there are several and one names no language
 */
export function textInLanguages(
  name: string,
  values: readonly string[],
): string | { readonly text: string | undefined; readonly language: string | undefined }[] {
  const texts = values.map((each) => IN_LANGUAGE.exec(each)).filter((match) => match !== null);
  if (texts.length === values.length)
    return texts.map(([, language, text]) => ({ text, language: languageFrom(language) }));
  const [value = "", ...others] = values;
  if (others.length === 0) return value;
  throw new UsageError(`${name} is given ${values.length} times: begin each with its language, such as en=.`);
}

/** Reads a comma-separated list of scopes. */
export function scopeList(text: string): Scope[] {
  const names = listOf(String)(text);
  const scopes = [...new Set(names.filter(isScope))];
  const unknown = names.filter((name) => !isScope(name));
  if (unknown.length > 0) throw new Error(`must name only ${scopeNames.join(", ")}; unknown: ${unknown.join(", ")}`);
  if (scopes.length === 0) throw new Error(`must name at least one of ${scopeNames.join(", ")}`);
  return scopes;
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/i;
const INSTANT_EXPECTED = "must be an RFC 3339 instant such as 2027-01-31T00:00:00Z";

/**
 * Returns a reader of RFC 3339 instants after `now`. Read the clock for `now` when the database is open: before that,
 * the clock of this machine may be wrong (`CliContext.clock`).
 */
export function futureInstant(now: number): (text: string) => Date {
  return (text) => {
    const instant = instantFrom(text);
    if (instant === undefined) throw new Error(INSTANT_EXPECTED);
    if (instant.getTime() <= now) throw new Error("must be in the future");
    return instant;
  };
}

/**
 * Returns a reader of RFC 3339 instants, and of durations before `now` such as `24h`. Read the clock for `now` when the
 * database is open: before that, the clock of this machine may be wrong.
 */
export function pastInstant(now: number): (text: string) => Date {
  return (text) => {
    if (/^\d+[smhd]$/.test(text)) return new Date(now - duration()(text));
    const instant = instantFrom(text);
    if (instant === undefined) throw new Error(`${INSTANT_EXPECTED}, or a duration ago such as 24h`);
    return instant;
  };
}

function instantFrom(text: string): Date | undefined {
  const instant = new Date(text);
  return INSTANT.test(text) && !Number.isNaN(instant.getTime()) ? instant : undefined;
}

/** Reads an id that the operator chooses. */
export function readGivenId(text: string): string {
  return readValue("<id>", text, (id) => parsed(givenIdentifier, id));
}

/** Reads a value by its schema in the contract. @throws Error with the schema's message */
export function parsed<Value>(schema: z.ZodType<Value, z.ZodTypeDef, string>, text: string): Value {
  const { success, data, error } = schema.safeParse(text);
  if (!success) throw new Error(error.issues[0]?.message ?? "is not valid");
  return data;
}

/**
 * Reads the name of a source: a feed, or the origin of trips. Rejects the name of the operator's own reports, because an
 * import may remove what its source reported.
 */
export function sourceName(text: string): string {
  if (text !== OPERATOR) return text;
  throw new Error("is the source of what your backend reports, which an import would remove: choose another name");
}

/** Reads a name that is shown among other texts: one line of printable characters. */
export function plainName(text: string): string {
  const name = text.trim();
  if (name === "") throw new Error("must not be empty");
  if (!isPlainName(name)) throw new Error(issueText("plainName"));
  return name;
}
