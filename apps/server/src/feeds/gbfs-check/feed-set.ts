import {
  feedNameIn,
  fieldNameIn,
  type GbfsFeed,
  type GbfsFeedName,
  gbfsFeedNames,
  gbfsFeeds,
  type GbfsVersion,
  gbfsVersions,
  hasFeed,
} from "@bikeshare/contract";
import { parseBounded } from "../gbfs/bounded-json.ts";
import { instantFrom, isObject, type JsonObject, numberFrom } from "../gbfs/values.ts";

/** The files of a feed set (a `gbfs.json` and the files that it lists) before they are parsed. */
export interface FeedFiles {
  readonly kind: "address" | "folder" | "own";
  /** The location as reports show it: an address without its query, a folder, or the id of a system. */
  readonly location: string;
  readonly files: readonly FeedFile[];
  /** The files of the same system in version 2, if `files` have a newer version and both are published. */
  readonly version2?: FeedFiles | undefined;
  /** What several reads over some minutes found about vehicles; undefined: no such reads were made. */
  readonly followed?: FollowedVehicles | undefined;
}

/** A file of a feed set as it was read. */
export interface FeedFile {
  /** The name in gbfs.json: `station_status`. */
  readonly name: string;
  /** The language under which gbfs.json lists the file, up to GBFS 2.3. */
  readonly language: string | null;
  readonly address: string;
  readonly bytes?: Uint8Array | undefined;
  /** The reason why there are no bytes. */
  readonly failure?: string | undefined;
  readonly http?: HttpFacts | undefined;
  /** The file as a second read returned it a little later; absent: it was not read again, or that read returned no file. */
  readonly later?: Uint8Array | undefined;
}

/** The HTTP properties of a file. */
interface HttpFacts {
  readonly isHttps: boolean;
  /** From the request, redirects included, until the whole file had arrived. */
  readonly milliseconds: number;
  readonly hasEtag: boolean;
  /** Whether a request with the file's ETag in `If-None-Match` gets 304 Not Modified; undefined: not known. */
  readonly answersNotModified?: boolean | undefined;
  /** Whether pages of any other origin may read the file (CORS). */
  readonly allowsOrigins: boolean;
  readonly isCompressed: boolean;
}

/** What several reads over some minutes found about vehicles. */
export interface FollowedVehicles {
  readonly minutes: number;
  /** How many reads succeeded. With fewer than two, there is nothing to compare. */
  readonly reads: number;
  readonly failed: number;
  /** Why the first failed read failed. */
  readonly failure?: string | undefined;
  /** Ids of vehicles that had the same id after a ride. */
  readonly kept: readonly string[];
  /** Whether `last_updated` differed between two reads; undefined: fewer than two reads succeeded. */
  readonly isUpdated: boolean | undefined;
}

/** A record of a feed, such as a station or a vehicle. */
export interface FeedRecord {
  /** The record as the file has it. */
  readonly raw: JsonObject;
  /** Its place in the document: `data.stations[12]`. */
  readonly path: string;
  /** Undefined: it has none. */
  readonly id: string | undefined;
}

/** A parsed file of a feed set, in a version that has such a file. */
export interface FeedDocument {
  readonly name: GbfsFeedName | "gbfs";
  /** The name in reports: `station_status.json`, or `en/station_status.json` when there are several languages. */
  readonly file: string;
  readonly language: string | null;
  /** All of the file. */
  readonly content: JsonObject;
  /** Its `data`; empty: it has none, or one that is not an object. */
  readonly data: JsonObject;
  readonly records: readonly FeedRecord[];
  /** Milliseconds since 1970. */
  readonly lastUpdated: number | undefined;
  readonly source: FeedFile;
}

/** A file that cannot be read. */
export interface FailedFile {
  readonly file: string;
  readonly source: FeedFile;
  readonly failure: string;
}

/** A parsed feed set, without the parts that cannot be read. */
export class FeedSet {
  readonly files: FeedFiles;
  /**
   * The time by which the files are judged, in milliseconds since 1970. For saved files: their newest `last_updated`, unless
   * they have none, or it is in the future.
   */
  readonly now: number;
  /** The version that gbfs.json declares, or the first file if there is no gbfs.json; undefined: it declares none. */
  readonly declared: string | undefined;
  /** The version by which all files are checked. */
  readonly version: GbfsVersion;
  readonly documents: readonly FeedDocument[];
  readonly failed: readonly FailedFile[];
  /** Files that this version of GBFS does not define. */
  readonly unknown: readonly FeedFile[];
  /** The results of `nameOf`, because rules ask for the fields of every record. */
  readonly #names = new Map<GbfsFeedName, Map<string, string>>();

  constructor(files: FeedFiles, now: number) {
    this.files = files;
    const read = readFiles(files);
    this.failed = read.failed;
    this.declared = declaredVersion(read.parsed);
    this.version = knownVersion(this.declared);
    const isKnown = ({ name, source }: Parsed) => name === "gbfs" || isNameIn(this.version, name, source.name);
    this.documents = read.parsed.filter(isKnown).map((each) => documentOf(each, this.version));
    this.unknown = [...read.unknown, ...read.parsed.filter((each) => !isKnown(each)).map(({ source }) => source)];
    const newest = Math.max(0, ...this.documents.map(({ lastUpdated = 0 }) => lastUpdated));
    this.now = files.kind === "folder" && newest > 0 ? Math.min(now, newest) : now;
  }

  /** Returns the documents of a feed: none, one, or one for each language. */
  all(name: GbfsFeedName | "gbfs"): readonly FeedDocument[] {
    return this.documents.filter((document) => document.name === name);
  }

  /** Returns one document of a feed: the English one, else the first. */
  one(name: GbfsFeedName | "gbfs"): FeedDocument | undefined {
    const all = this.all(name);
    return all.find(({ language }) => /^en\b/i.test(language ?? "")) ?? all[0];
  }

  /** Returns the records of a feed; empty: the set has no such feed. */
  records(name: GbfsFeedName): readonly FeedRecord[] {
    return this.one(name)?.records ?? [];
  }

  /**
   * Returns a field of a record, under the name that it has in this version or else in the newest.
   * @param field its name in the newest version of GBFS
   */
  get(name: GbfsFeedName, { raw }: FeedRecord, field: string): unknown {
    return raw[this.nameOf(name, field)] ?? raw[field];
  }

  /** Returns a field of `data`, under the same names as `get`. @param field its name in the newest version of GBFS */
  field(name: GbfsFeedName, field: string): unknown {
    const { data } = this.one(name) ?? {};
    return data?.[this.nameOf(name, field)] ?? data?.[field];
  }

  /** Returns a field's name in this version. */
  nameOf(name: GbfsFeedName, field: string): string {
    const names = this.#names.get(name) ?? new Map<string, string>();
    this.#names.set(name, names);
    const found = names.get(field) ?? fieldNameIn(this.version, name, field);
    names.set(field, found);
    return found;
  }

  /** Returns the ids of a feed's records. */
  ids(name: GbfsFeedName): ReadonlySet<string> {
    return new Set(this.records(name).flatMap(({ id }) => (id === undefined ? [] : [id])));
  }
}

/** A file that is a JSON object, before its version is known. */
interface Parsed {
  readonly name: GbfsFeedName | "gbfs";
  readonly file: string;
  readonly source: FeedFile;
  readonly content: JsonObject;
}

/** Parses files, and sets aside those that cannot be read and those that no version of GBFS has. */
function readFiles({ files }: FeedFiles) {
  const parsed: Parsed[] = [];
  const failed: FailedFile[] = [];
  const unknown: FeedFile[] = [];
  const languages = new Set(files.map(({ language }) => language).filter((language) => language !== null));
  const hasSeveralLanguages = languages.size > 1;
  for (const source of files) {
    const name = feedNamed(source.name);
    const { language, bytes } = source;
    const file = `${hasSeveralLanguages && language !== null ? `${language}/` : ""}${source.name}.json`;
    if (name === undefined) unknown.push(source);
    else if (bytes === undefined) failed.push({ file, source, failure: source.failure ?? "it could not be read" });
    else {
      try {
        const content = parseBounded(bytes);
        if (isObject(content)) parsed.push({ name, file, source, content });
        else failed.push({ file, source, failure: "it is not a JSON object" });
      } catch (error) {
        failed.push({ file, source, failure: error instanceof Error ? error.message : String(error) });
      }
    }
  }
  return { parsed, failed, unknown };
}

/** Returns the feed of a name in any version. */
function feedNamed(name: string): GbfsFeedName | "gbfs" | undefined {
  if (name === "gbfs") return name;
  return gbfsFeedNames.find((feed) => gbfsVersions.some((version) => feedNameIn(version, feed) === name));
}

/** Tells whether a version has a feed under the name that a file has. */
function isNameIn(version: GbfsVersion, name: GbfsFeedName, written: string): boolean {
  return hasFeed(version, name) && feedNameIn(version, name) === written;
}

/** Returns the version that gbfs.json declares, or the first file if there is no gbfs.json; undefined: it declares none. */
function declaredVersion(parsed: readonly Parsed[]): string | undefined {
  const first = parsed.find(({ name }) => name === "gbfs") ?? parsed[0];
  const version = first?.content["version"];
  return typeof version === "string" ? version : undefined;
}

/**
 * Returns the version by which to check: 1.0 if the feed declares none. Release candidates do not matter: 3.0-RC2 counts as
 * 3.0, and 3.1 as 3.1-RC3. An unknown version counts as the newest known one of the same major version, or else as 2.3.
 */
function knownVersion(declared: string | undefined): GbfsVersion {
  if (declared === undefined) return "1.0";
  const base = declared.replace(/-RC\d*$/, "");
  const known = gbfsVersions.find((version) => version === declared || version.replace(/-RC\d+$/, "") === base);
  return known ?? gbfsVersions.findLast((version) => version[0] === declared[0]) ?? "2.3";
}

function documentOf({ name, file, source, content }: Parsed, version: GbfsVersion): FeedDocument {
  const data = isObject(content["data"]) ? content["data"] : {};
  const { language } = source;
  const lastUpdated = instantFrom(content["last_updated"]);
  const records = name === "gbfs" ? [] : recordsOf(name, data, version);
  return { name, file, language, source, content, data, records, lastUpdated };
}

/** Returns the records of a document. Accepts the names of its fields in this version and in the newest. */
function recordsOf(name: GbfsFeedName, data: JsonObject, version: GbfsVersion): FeedRecord[] {
  const { records }: GbfsFeed = gbfsFeeds[name];
  if (records === undefined) return [];
  const [list, idField] = [records.list, records.id].map((field) => fieldNameIn(version, name, field));
  if (list === undefined || idField === undefined) return [];
  const items = data[list] ?? data[records.list];
  if (!Array.isArray(items)) return [];
  return items.flatMap((raw: unknown, index) => {
    if (!isObject(raw)) return [];
    const id = raw[idField] ?? raw[records.id];
    return [
      {
        raw,
        path: `data.${list}[${index}]`,
        id: typeof id === "string" || typeof id === "number" ? `${id}` : undefined,
      },
    ];
  });
}

/** Returns the seconds for which a document may be cached. */
export function ttlOf({ content }: FeedDocument): number {
  return Math.max(0, numberFrom(content["ttl"]) ?? 0);
}
