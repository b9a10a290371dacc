import {
  feedNameIn,
  type Field,
  fieldNameIn,
  type Fields,
  type FieldType,
  type GbfsFeed,
  type GbfsFeedName,
  gbfsFeedNames,
  gbfsFeeds,
  type GbfsVersion,
  hasFeed,
  hasField,
  isAtLeast,
  requiresField,
} from "@bikeshare/contract";
import { isObject, type JsonObject } from "../gbfs/values.ts";
import type { FeedDocument, FeedSet } from "./feed-set.ts";
import type { FindingLog } from "./findings.ts";
import { EARLIEST_SECONDS, expectedForm, typeIn, valueIssue } from "./kinds.rules.ts";

/** Checks the fields of every document against the table of fields (`gbfsFeeds`) in the version of the feed set. */
export function checkStructure(set: FeedSet, log: FindingLog): void {
  for (const document of set.documents) new DocumentCheck(set.version, document, log).run();
}

/** Where a value is in the document. */
interface Place {
  /** Such as `data.stations[12].lat`; empty: the document itself. */
  readonly path: string;
  /** The id of the record around it; undefined: there is none. */
  readonly id: string | undefined;
}

type Severity = "error" | "note";

/** A field with the name that it has in one version. */
interface VersionField {
  readonly name: string;
  readonly field: Field;
  readonly isRequired: boolean;
}

/** Checks one document. An object is closed if its schema allows no other fields. */
class DocumentCheck {
  /** The fields of each kind of object in this version, by their names in it, computed once. */
  readonly #fields = new Map<Fields, ReadonlyMap<string, VersionField>>();
  readonly #version: GbfsVersion;
  readonly #document: FeedDocument;
  readonly #log: FindingLog;

  constructor(version: GbfsVersion, document: FeedDocument, log: FindingLog) {
    this.#version = version;
    this.#document = document;
    this.#log = log;
  }

  /** Checks the whole document, and adds what is wrong to the log. */
  run(): void {
    const { name, content, data } = this.#document;
    const version = this.#version;
    this.#envelope(content);
    if (!isObject(content["data"])) return;
    if (name === "gbfs") return this.#discovery(data);
    const feed: GbfsFeed = gbfsFeeds[name];
    const isClosed = feed.closedSince !== undefined && isAtLeast(version, feed.closedSince);
    this.#object(data, feed.fields, { path: "data", id: undefined }, isClosed);
  }

  /** Checks the fields beside `data`, which every file has. */
  #envelope(content: JsonObject): void {
    const version = this.#version;
    const instant: FieldType = isAtLeast(version, "3.0")
      ? { kind: "instant" }
      : { kind: "integer", min: isAtLeast(version, "1.1") ? EARLIEST_SECONDS : 0 };
    const fields: Fields = {
      last_updated: { type: instant, required: true },
      ttl: { type: { kind: "integer", min: 0 }, required: true },
      version: { type: { kind: "oneOf", words: [version] }, since: "1.1", required: true },
      data: { type: { kind: "object", fields: {} }, required: true },
    };
    const { name } = this.#document;
    const isClosed = (name === "gbfs" && isAtLeast(version, "3.0")) || name === "vehicle_availability";
    this.#object(content, fields, { path: "", id: undefined }, isClosed, ["data"]);
  }

  /**
   * Checks the fields of an object.
   * @param isClosed whether unknown fields are errors rather than notes
   * @param skipped names of fields that must be objects, and whose content is not checked
   */
  #object(value: JsonObject, fields: Fields, place: Place, isClosed = false, skipped: readonly string[] = []): void {
    const known = this.#fieldsOf(fields);
    for (const { name, field, isRequired } of known.values()) {
      const each = value[name];
      if (each === undefined && !isRequired) continue;
      const here = { path: place.path === "" ? name : `${place.path}.${name}`, id: place.id };
      if (each === undefined) this.#missing(name, field, here);
      else if (!skipped.includes(name)) this.#value(each, field.type, here, name);
      else if (!isObject(each))
        this.#wrongValue(name, "is no object", "Put what the file is about into it.", here, each);
    }
    for (const name of Object.keys(value))
      if (!known.has(name)) this.#unknown(name, value[name], fields[name], place, isClosed);
  }

  /** Returns the fields that this version has, by the names that they have in it. */
  #fieldsOf(fields: Fields): ReadonlyMap<string, VersionField> {
    const held = this.#fields.get(fields);
    if (held !== undefined) return held;
    const known = new Map<string, VersionField>();
    for (const [newest, field] of Object.entries(fields)) {
      if (!hasField(this.#version, field)) continue;
      const name = this.#nameOf(newest);
      known.set(name, { name, field, isRequired: requiresField(this.#version, field) });
    }
    this.#fields.set(fields, known);
    return known;
  }

  /** Reports that a required field is missing. */
  #missing(name: string, field: Field, place: Place): void {
    const type = typeIn(this.#version, field.type);
    this.#add(
      "required-field",
      "error",
      place,
      `\`${name}\` is missing; GBFS ${this.#version} requires it`,
      `Add it: ${expectedForm(this.#version, type)}.`,
    );
  }

  /** Reports an unknown field. @param field the field of this name in the table of fields, which other versions have */
  #unknown(name: string, value: unknown, field: Field | undefined, place: Place, isClosed: boolean): void {
    // Publishers may add fields whose names begin with an underscore, except to a closed object.
    if (name.startsWith("_") && !isClosed) return;
    const others = field === undefined ? undefined : this.#otherVersions(field);
    const more = others === undefined ? "" : `; ${others} has it`;
    const text = `\`${name}\` is no field of GBFS ${this.#version}${more}`;
    const fix = isClosed
      ? "Remove it: nothing may be added here."
      : `Name it \`_${name}\` if it is your own, or leave it out.`;
    const here = { ...place, path: place.path === "" ? name : `${place.path}.${name}` };
    this.#add("unknown-field", isClosed ? "error" : "note", here, text, fix, value);
  }

  /** Returns in words the versions that have a field which this version lacks. */
  #otherVersions({ since, until }: Field): string | undefined {
    if (since !== undefined && !isAtLeast(this.#version, since)) return `${since} and newer`;
    return until === undefined ? undefined : `${until} and older`;
  }

  /** Checks a value, and the values in it. @param given its type in the table of fields */
  #value(value: unknown, given: FieldType, place: Place, name: string): void {
    const version = this.#version;
    const type = typeIn(version, given);
    const issue = valueIssue(value, version, type);
    if (issue !== undefined) return this.#wrongValue(name, issue.text, issue.fix, place, value);
    if (type.kind === "list" && type.item !== undefined) {
      for (const [index, item] of (value as readonly unknown[]).entries()) {
        const path = `${place.path}[${index}]`;
        this.#value(item, type.item, { path, id: this.#idOf(item) ?? place.id }, name);
      }
    } else if (type.kind === "object") {
      const isClosed = this.#document.name === "vehicle_availability";
      const fields = type.fields ?? {};
      // A polygon may have other members, such as a bounding box.
      if (given.kind === "multiPolygon") this.#knownFields(value as JsonObject, fields, place);
      else this.#object(value as JsonObject, fields, place, isClosed);
    } else if (type.kind === "counts") {
      // An object with a number for each vehicle type: its names are ids, which no table has.
      for (const [key, count] of Object.entries(value as JsonObject))
        this.#value(count, { kind: "number" }, { ...place, path: `${place.path}.${key}` }, `${name}.${key}`);
    }
  }

  /** Checks the known fields of an object, and ignores unknown ones. */
  #knownFields(value: JsonObject, fields: Fields, place: Place): void {
    const known = Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(fields, name)));
    this.#object(known, fields, place);
  }

  /** Reports a wrong value. @param text what is wrong, as the end of a sentence that begins with the field's name */
  #wrongValue(name: string, text: string, fix: string, place: Place, value: unknown): void {
    // A wrong `version` is reported by a rule of its own. Only the field beside `data` has this path.
    if (place.path === "version") return this.#wrongVersion(value);
    this.#add("field-value", "error", place, `\`${name}\` ${text}`, fix, value);
  }

  #wrongVersion(value: unknown): void {
    const text = `the file declares another version than ${this.#version}, which gbfs.json has`;
    this.#add(
      "version",
      "error",
      { path: "version", id: undefined },
      text,
      "Declare one version in all files of a feed set.",
      value,
    );
  }

  #add(rule: string, severity: Severity, { path, id }: Place, text: string, fix: string, value?: unknown): void {
    this.#log.add({ rule, severity, file: this.#document.file, path, id, value, text: sentence(text), fix });
  }

  /** Returns the name that a field has in this version. @param newest its name in the newest version */
  #nameOf(newest: string): string {
    const { name } = this.#document;
    return name === "gbfs" ? newest : fieldNameIn(this.#version, name, newest);
  }

  /** Returns the id of a record; undefined: the item is no record of this feed, or has no id. */
  #idOf(item: unknown): string | undefined {
    const { name } = this.#document;
    if (name === "gbfs" || !isObject(item)) return undefined;
    const { records }: GbfsFeed = gbfsFeeds[name];
    if (records === undefined) return undefined;
    const id = item[this.#nameOf(records.id)];
    return typeof id === "string" ? id : undefined;
  }

  /** Checks the `data` of gbfs.json: one list of feeds, or up to GBFS 2.3 one for each language. */
  #discovery(data: JsonObject): void {
    const version = this.#version;
    const top: Place = { path: "data", id: undefined };
    if (isAtLeast(version, "3.0")) {
      if (data["feeds"] === undefined)
        this.#missing("feeds", { type: listOfFeeds(version), required: true }, { ...top, path: "data.feeds" });
      else this.#feeds(data["feeds"], { ...top, path: "data.feeds" });
      return;
    }
    const languages = Object.entries(data);
    if (languages.length === 0)
      this.#add(
        "required-field",
        "error",
        top,
        "the list of feeds has no language",
        "List the feeds below a language such as `en`.",
      );
    for (const [language, listed] of languages) {
      const place = { ...top, path: `data.${language}` };
      const pattern = isAtLeast(version, "1.1") ? /^[a-z]{2,3}(?:-[A-Z]{2})?$/ : /^[a-zA-Z]{2}$/;
      if (!pattern.test(language))
        this.#wrongValue(
          language,
          `is no language; GBFS ${version} lists feeds by languages such as en or pt-BR`,
          "List the feeds below a language.",
          place,
          undefined,
        );
      else if (!isObject(listed)) this.#wrongValue(language, "is no object", "Put `feeds` into it.", place, listed);
      else if (listed["feeds"] === undefined)
        this.#missing(
          "feeds",
          { type: listOfFeeds(version), required: true },
          { ...place, path: `${place.path}.feeds` },
        );
      else this.#feeds(listed["feeds"], { ...place, path: `${place.path}.feeds` });
    }
  }

  /** Checks one list of feeds of gbfs.json. */
  #feeds(listed: unknown, place: Place): void {
    const version = this.#version;
    this.#value(listed, listOfFeeds(version), place, "feeds");
    if (!Array.isArray(listed)) return;
    const names = new Set(listed.map((feed: unknown) => (isObject(feed) ? feed["name"] : undefined)));
    const need = (name: string, text: string) =>
      this.#add("file-missing", "error", place, text, `Publish ${name}.json and list it.`);
    if (!names.has("system_information"))
      need("system_information", "`system_information` is not listed; every system needs it");
    if (!isAtLeast(version, "2.0")) return;
    const vehicles = feedNameIn(version, "vehicle_status");
    if (!names.has("station_status") && !names.has(vehicles))
      need(vehicles, `neither \`station_status\` nor \`${vehicles}\` is listed`);
    if (names.has("station_information") && !names.has("station_status"))
      need("station_status", "`station_information` is listed without `station_status`");
  }
}

/** Returns the type of the list of feeds in gbfs.json. */
function listOfFeeds(version: GbfsVersion): FieldType {
  // The official schemas do not allow `manifest` in the list, because its address is in system_information.json.
  const words = gbfsFeedNames.filter((name) => name !== "manifest" && hasFeed(version, name));
  const name: FieldType = isAtLeast(version, "1.1")
    ? { kind: "oneOf", words: ["gbfs", ...words.map((each: GbfsFeedName) => feedNameIn(version, each))] }
    : { kind: "string" };
  return {
    kind: "list",
    min: 1,
    item: {
      kind: "object",
      fields: { name: { type: name, required: true }, url: { type: { kind: "uri" }, required: true } },
    },
  };
}

/** Writes a text as a sentence, with a capital and a full stop. */
function sentence(text: string): string {
  return `${text.replace(/^[a-z]/, (first) => first.toUpperCase())}.`;
}
