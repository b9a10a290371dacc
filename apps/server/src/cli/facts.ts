import { type FactChanges, type FactKind, factKinds, type Facts, type FieldType } from "@bikeshare/contract";
import type { Described } from "../city/descriptions/service.ts";
import { textIn } from "../city/descriptions/service.ts";
import type { ParentCommand } from "./context.ts";
import { textInLanguages, UsageError } from "./options.ts";

// Facts are the values that GBFS publishes of a system, station or another thing, such as its name. This file has the
// command-line options that set facts, and the output of facts. Both follow from the contract's list of facts. The origin
// of a published fact is the operator, a source (a feed) or a default.

/** Adds an option for each fact of a kind. An empty value removes the fact. */
export function addFactOptions(command: ParentCommand, kind: FactKind): void {
  const facts: Facts = factKinds[kind];
  for (const [name, { type, about }] of Object.entries(facts)) {
    command.option(`${optionOf(name)} <value>`, helpOf(type, about), collect);
  }
}

/** Reads the facts from the options. @throws UsageError when there is none, or an option cannot be read */
export function readFactOptions<Kind extends FactKind>(
  kind: Kind,
  given: Readonly<Record<string, unknown>>,
): FactChanges<Kind> {
  const facts: Facts = factKinds[kind];
  const changes: Record<string, unknown> = {};
  for (const [name, { type }] of Object.entries(facts)) {
    const values = (given[propertyOf(name)] ?? []) as readonly string[];
    if (values.length === 0) continue;
    const isRemoved = values.every((value) => value === "");
    changes[name] = isRemoved ? null : readOption(optionOf(name), type, values);
  }
  if (Object.keys(changes).length === 0)
    throw new UsageError(`Give at least one of ${Object.keys(facts).map(optionOf).join(", ")}.`);
  return changes as FactChanges<Kind>;
}

/** Returns a described thing for `--json`. The system and its zones have an empty id, which is left out. */
export function describedJson({ id, published, own, from }: Described): object {
  return { ...(id === "" ? {} : { id }), published, own, from };
}

/** Returns the published facts for people, each with its origin unless that is the operator. */
export function describedFacts({ id, published, from }: Described, language: string): object {
  const origins = from as Readonly<Record<string, string>>;
  const lines = Object.entries<unknown>({ ...published }).map(([name, value]): [string, unknown] => {
    const text = valueText(value, language);
    const origin = origins[name] ?? "";
    return [name, origin === "operator" ? text : `${String(text)} (${origin})`];
  });
  return { ...(id === "" ? {} : { id }), ...Object.fromEntries<unknown>(lines) };
}

function valueText(value: unknown, language: string): unknown {
  if (isText(value)) return value.length === 1 ? textIn(value, language) : textLines(value);
  return typeof value === "object" ? JSON.stringify(value) : value;
}

type Texts = readonly { readonly text: string; readonly language: string }[];

/** Tells whether a value is a text in one or more languages. */
function isText(value: unknown): value is Texts {
  return Array.isArray(value) && value.length > 0 && typeof (value[0] as { text?: unknown }).text === "string";
}

function textLines(texts: Texts): string {
  return texts.map(({ text, language }) => `${language}=${text}`).join("; ");
}

/** Returns the option of a fact: `--feed-contact-email`. */
export function optionOf(name: string): string {
  return `--${name.replaceAll("_", "-")}`;
}

/** Returns the property in which commander puts the option's value: `feedContactEmail`. */
function propertyOf(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Collects the values of an option that may be repeated, once for each language. */
function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function helpOf({ kind, words, item }: FieldType, about: string): string {
  if (kind === "oneOf") return `${about}: ${words?.join(", ") ?? ""}`;
  if (kind === "text" || kind === "textUri") return `${about}; in several languages: en=… again nb=…`;
  if (kind === "list" && item?.kind === "oneOf")
    return `${about}; separated by commas: ${item.words?.join(", ") ?? ""}`;
  if (kind === "list" && item?.kind === "id") return `${about}; separated by commas`;
  if (kind === "list" || kind === "object" || kind === "multiPolygon") return `${about}; JSON`;
  return about;
}

/**
 * Reads the value of an option. Returns a wrong number or boolean as it is: `describe` rejects it later.
 * @throws UsageError when a JSON option has other text, or an option is repeated that may not be
 */
function readOption(option: string, type: FieldType, values: readonly string[]): unknown {
  const [value = "", ...others] = values;
  if (type.kind === "text" || type.kind === "textUri") return textInLanguages(option, values);
  if (others.length > 0) throw new UsageError(`${option} is given ${values.length} times: give it once.`);
  switch (type.kind) {
    case "boolean":
      return ["true", "false"].includes(value) ? value === "true" : value;
    case "integer":
    case "number":
      return Number.isNaN(Number(value)) ? value : Number(value);
    case "list":
      return type.item?.kind === "oneOf" || type.item?.kind === "id" ? value.split(",") : readJson(option, value);
    case "object":
    case "multiPolygon":
      return readJson(option, value);
    default:
      return value;
  }
}

function readJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${option} is ${JSON.stringify(text)}: it must be JSON.`);
  }
}
