import {
  feedNameIn,
  type GbfsFeed,
  gbfsFeedNames,
  gbfsFeeds,
  gbfsVersionPaths,
  hasFeed,
  hasField,
} from "@bikeshare/contract";
import { mdsContract, mdsReportRow } from "@bikeshare/contract/mds";
import { z } from "zod";
import type { RecordList } from "./left-out.rules.ts";

/*
 * Tells which endpoints and fields this service gives agencies, for comparison with an agency's requirement file. Takes the
 * endpoints of MDS from the contract, and those of GBFS from the table of fields (`gbfsFeeds`).
 */

/** A field that agencies get. */
interface ServedField {
  readonly name: string;
  /** Whether the field may be missing from a record, because nobody reported it. */
  readonly isOptional: boolean;
}

/** An endpoint that is served. */
export interface ServedEndpoint {
  /** The list of its records; undefined for GBFS, whose feeds are public. */
  readonly list: RecordList | undefined;
  /** The fields of its records; empty for GBFS, whose fields only `find` knows. */
  readonly fields: readonly ServedField[];
  /**
   * Tells whether the field at a path, or a part of it such as `special_group_type.all_riders`, is optional; undefined: it is
   * not served.
   */
  find(path: string): Omit<ServedField, "name"> | undefined;
}

/** An endpoint as a requirement file names it. */
interface NamedEndpoint {
  readonly spec: string;
  readonly version: string;
  /** Empty for GBFS. */
  readonly api: string;
  readonly endpoint: string;
}

/** Other names of endpoints in requirement files, such as those of MDS 1, with the endpoints here that they stand for. */
const otherNames: ReadonlyMap<string, readonly string[]> = new Map([
  ["events", ["events/historical", "events/recent"]],
  ["status_changes", ["events/historical"]],
]);

/** Returns the endpoints that serve an endpoint of a requirement file. Empty: it is not served. */
export function servedEndpoints({ spec, version, api, endpoint }: NamedEndpoint): readonly ServedEndpoint[] {
  const name = endpoint.trim().replace(/^\//, "");
  if (spec.toUpperCase() === "GBFS") return servedFeed(version, name.replace(/\.json$/, ""));
  if (spec.toUpperCase() !== "MDS" || api !== "provider") return [];
  return (otherNames.get(name) ?? [name]).flatMap((each) => ofContract().get(each) ?? []);
}

/** The result of `ofContract`, made once. */
let known: ReadonlyMap<string, ServedEndpoint> | undefined;

/** Returns the endpoints of the contract that have lists of records, by their paths below `/mds`. */
function ofContract(): ReadonlyMap<string, ServedEndpoint> {
  known ??= new Map([
    ...Object.values(mdsContract).flatMap(({ path, responses }): [string, ServedEndpoint][] => {
      const ok: unknown = responses[200];
      // A path with a parameter, such as `vehicles/:device_id`, returns the same records as the list without it.
      const shape = ok instanceof z.ZodObject && !path.includes(":") ? (ok.shape as z.ZodRawShape) : {};
      const lists = Object.entries(shape).filter(([, schema]) => schema instanceof z.ZodArray);
      return lists.map(([list, schema]) => [path.replace("/mds/", ""), endpointOf(list as RecordList, schema)]);
    }),
    // Reports are CSV, so the contract has no list of them.
    ["reports", endpointOf("reports", mdsReportRow)],
  ]);
  return known;
}

/** Returns the names of all endpoints of MDS that are served. */
export function everyEndpoint(): string[] {
  return [...ofContract().keys()];
}

/** Returns an endpoint from the schema of its records. */
function endpointOf(list: RecordList, schema: z.ZodTypeAny): ServedEndpoint {
  return { list, fields: fieldsOf(schema), find: (path) => find(schema, path.split(".")) };
}

/** Returns the fields of a record from its schema. */
function fieldsOf(schema: z.ZodTypeAny): ServedField[] {
  const bare = unwrap(schema);
  const shape = bare instanceof z.ZodObject ? (bare.shape as z.ZodRawShape) : {};
  return Object.entries(shape).map(([name, field]) => ({ name, isOptional: field.isOptional() }));
}

/** Finds a field by its path in a schema. @param path a field, then a part of it, which may be a word of its enumeration */
function find(schema: z.ZodTypeAny, [step, ...rest]: readonly string[]): Omit<ServedField, "name"> | undefined {
  // The path ends here, so the field exists. Each earlier step adds below whether its own field is optional.
  if (step === undefined) return { isOptional: false };
  const bare = unwrap(schema);
  // Accepts the plural of a word too, because San Francisco's requirement file uses it.
  if (bare instanceof z.ZodEnum)
    return (bare.options as string[]).some((word) => word === step || `${word}s` === step)
      ? { isOptional: true }
      : undefined;
  const field = bare instanceof z.ZodObject ? own(bare.shape as z.ZodRawShape, step) : undefined;
  const found = field && find(field, rest);
  return found && { isOptional: found.isOptional || field.isOptional() };
}

/** Returns a part by its name, which comes from a file and may be any word, such as `constructor`. */
function own<Part>(parts: Readonly<Record<string, Part>>, name: string): Part | undefined {
  return Object.hasOwn(parts, name) ? parts[name] : undefined;
}

/** Returns a schema without "optional" and "nullable". Returns the schema of the items for an array. */
function unwrap(schema: z.ZodTypeAny): z.ZodTypeAny {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return unwrap(schema.unwrap() as z.ZodTypeAny);
  return schema instanceof z.ZodArray ? unwrap(schema.element as z.ZodTypeAny) : schema;
}

/** Returns the endpoint of a GBFS feed in a version. Empty: the feed is not published. */
function servedFeed(asked: string, name: string): readonly ServedEndpoint[] {
  const version = gbfsVersionPaths.get(asked);
  if (version === undefined) return [];
  // The list of feeds is served, but has no fields that a requirement file could name.
  if (name === "gbfs") return [{ list: undefined, fields: [], find: () => undefined }];
  const feed = gbfsFeedNames.find((each) => hasFeed(version, each) && feedNameIn(version, each) === name);
  if (feed === undefined) return [];
  const { fields, records }: GbfsFeed = gbfsFeeds[feed];
  const record = records === undefined ? fields : (fields[records.list]?.type.item?.fields ?? {});
  const findField = (path: string) => {
    const field = own(record, path);
    return field !== undefined && hasField(version, field) ? { isOptional: true } : undefined;
  };
  return [{ list: undefined, fields: [], find: findField }];
}
