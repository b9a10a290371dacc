import {
  type gbfsContract,
  gbfsVersionPaths,
  isAtLeast,
  type PublishedGbfsVersion,
  publishedGbfsVersions,
} from "@bikeshare/contract";
import { ServiceError, serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import fresh from "fresh";
import { type CodedBody, codedBody, inParts, vary } from "../../http/response-body.ts";
import type { PageCache } from "../../storage/background/page-cache.ts";
import { type FeedName, feedsIn, nameIn, type SystemList } from "./discovery.ts";
import { type DocumentName, type GbfsContext, type GbfsDocument, gbfsDocument, zonesState } from "./service.ts";
import { hasTexts } from "./writer.ts";

/**
 * Minimum age of a document before it is built again. Too low: a busy city changes many times a second, and anybody may
 * send requests, so the list of all bikes is built often. Too high: documents are older than their `ttl` promises.
 */
export const FEED_MIN_AGE_MS = 2_000;

/** A cached document, ready to be sent plain or as gzip. */
interface GbfsPage extends CodedBody, Pick<GbfsDocument, "languages" | "lastUpdated" | "sharesSecond" | "ttl"> {}

/** A cached page, or the error for a document that cannot be served. Errors are cached too, so that they cost no more. */
export type KeptPage = GbfsPage | ServiceError;

/** The parameters of a feed's path. */
interface FeedAddress {
  /** Undefined: the first system of the deployment. */
  readonly systemId?: string | undefined;
  readonly version: string;
  readonly language?: string | undefined;
  /** The feed's name with `.json`. */
  readonly file: string;
}

/**
 * The only version whose list of versions is complete: the schemas of the others do not allow this release candidate.
 */
const NEWEST = "3.1-RC3";

/** Routes of the public feeds. They cache documents as bytes, because all callers read the same few. */
export function gbfsRoutes(
  context: GbfsContext,
  systems: SystemList,
  pages: PageCache<KeptPage>,
): RouterImplementation<typeof gbfsContract> {
  const zones = createZonePages(context);

  /** Responds with the document at an address. @throws ServiceError `not_found` */
  async function answer(address: FeedAddress, { request, reply }: Call) {
    const version = gbfsVersionPaths.get(address.version);
    if (version === undefined) {
      throw serviceError("not_found", "gbfsVersion", { versions: [...gbfsVersionPaths.keys()].join(", ") });
    }
    if (!address.file.endsWith(".json")) throw serviceError("not_found", "feedFile");
    const systemId = await findSystem(address.systemId);
    const feed = feedNamed(version, address.file.slice(0, -".json".length));
    const inMainLanguage = { systemId, version, feed };
    const language = address.language === undefined ? undefined : await findLanguage(inMainLanguage, address.language);
    return send(await pageOf({ ...inMainLanguage, language }), request, reply);
  }

  /** Returns the id of the named system, or of the first. @throws ServiceError `not_found` */
  async function findSystem(named: string | undefined): Promise<string> {
    const id = named ?? (await systems.first());
    if (id === undefined) throw serviceError("not_found", "noSystem");
    if (named !== undefined && !(await systems.has(id))) throw serviceError("not_found", "system");
    return id;
  }

  /**
   * Returns the language of the document; undefined when it equals the document in the main language.
   * @throws ServiceError `not_found` when the system has no such language. From GBFS 3.0 on, no path has a language.
   */
  async function findLanguage(main: DocumentName, named: string): Promise<string | undefined> {
    if (isAtLeast(main.version, "3.0")) throw serviceError("not_found", "path");
    const { languages } = await pageOf({ ...main, feed: "system_information" });
    if (!languages.includes(named)) {
      throw serviceError("not_found", "feedLanguage", { languages: languages.join(", ") });
    }
    return named === languages[0] || main.feed === "gbfs" || !hasTexts(main.feed) ? undefined : named;
  }

  /** Returns the page of a document, from the cache if it is there. @throws ServiceError */
  async function pageOf(document: DocumentName): Promise<GbfsPage> {
    const { systemId, version, feed, language = "" } = document;
    const make = async () => {
      if (feed === "geofencing_zones") return zones(document);
      if (feed !== "gbfs") return makePage(context, document);
      // The list names the zones only if there are some. Their page is cached for long, so this seldom reads them.
      const ofZones = await zones({ systemId, version, feed: "geofencing_zones" });
      return makePage(context, document, !(ofZones instanceof ServiceError));
    };
    const page = await pages.get(systemId, `${version}/${language}/${feed}`, make);
    if (page instanceof ServiceError) throw page;
    return page;
  }

  return routesTo(answer);
}

/** Binds each route of the contract to the document that it serves. */
function routesTo(
  answer: (address: FeedAddress, call: Call) => ReturnType<typeof send>,
): RouterImplementation<typeof gbfsContract> {
  return {
    versions: (call) => answer({ version: NEWEST, file: "gbfs_versions.json" }, call),
    feed23: (call) => answer({ version: "2.3", file: call.params.feed }, call),
    feed30: (call) => answer({ version: "3.0", file: call.params.feed }, call),
    feed: (call) => answer({ version: call.params.version, file: call.params.feed }, call),
    versionsOfSystem: (call) => {
      // The path may have a version instead of a system id.
      const { system_id: id } = call.params;
      const file = "gbfs_versions.json";
      return answer(gbfsVersionPaths.has(id) ? { version: id, file } : { systemId: id, version: NEWEST, file }, call);
    },
    feed23OfSystem: (call) => answer({ systemId: call.params.system_id, version: "2.3", file: call.params.feed }, call),
    feed30OfSystem: (call) => answer({ systemId: call.params.system_id, version: "3.0", file: call.params.feed }, call),
    feedOfSystem: (call) => {
      const { system_id: systemId, version, feed: file } = call.params;
      // A path with a version instead of a system id: its second part is a language.
      if (gbfsVersionPaths.has(systemId)) return answer({ version: systemId, language: version, file }, call);
      return answer({ systemId, version, file }, call);
    },
    feedInLanguage: (call) => {
      const { system_id: systemId, version, language, feed: file } = call.params;
      return answer({ systemId, version, language, file }, call);
    },
  };
}

/** The feeds of each version by the names that they have in it. */
const feedsByName: ReadonlyMap<PublishedGbfsVersion, ReadonlyMap<string, FeedName>> = new Map(
  publishedGbfsVersions.map((version) => [
    version,
    new Map(feedsIn(version).map((feed) => [nameIn(version, feed), feed])),
  ]),
);

/** Returns the feed with a name. @throws ServiceError `not_found` for a name that is not a feed of this version */
function feedNamed(version: PublishedGbfsVersion, name: string): FeedName {
  const feeds = feedsByName.get(version);
  const feed = feeds?.get(name);
  if (feed !== undefined) return feed;
  throw serviceError("not_found", "feed", { feeds: [...(feeds?.keys() ?? [])].join(", ") });
}

/**
 * Builds a page and compresses it once. 26,000 bikes are 4.5 MB, so compressing them for every request would delay all
 * others by 30 to 90 ms.
 */
async function makePage(context: GbfsContext, name: DocumentName, hasZones?: boolean): Promise<KeptPage> {
  try {
    const { json, ...document } = await gbfsDocument(context, name, hasZones);
    return { ...codedBody(json, ["gzip"]), ...document };
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

const HOUR_MS = 3_600_000;

/**
 * Returns a function that builds the page of geofencing zones, and caches the page until its content may differ. Zones may
 * have megabytes, and the pages of a busy city are built every few seconds. The page is built again each hour, so that it
 * becomes an error when the system has ended.
 */
function createZonePages(context: GbfsContext): (document: DocumentName) => Promise<KeptPage> {
  const kept = new Map<string, { readonly state: string; readonly page: KeptPage }>();
  return async (document) => {
    const { systemId, version, language = "" } = document;
    const key = `${systemId} ${version} ${language}`;
    const state = `${await zonesState(context, systemId)} ${Math.floor(context.clock() / HOUR_MS)}`;
    const held = kept.get(key);
    if (held?.state === state) return held.page;
    const page = await makePage(context, document);
    kept.set(key, { state, page });
    return page;
  };
}

/** Responds with a page, compressed if the caller accepts it, or with 304. */
async function send(page: GbfsPage, { headers, method }: Call["request"], reply: Call["reply"]) {
  const lastModified = page.lastUpdated.toUTCString();
  reply.header("etag", page.etag);
  reply.header("cache-control", `public, max-age=${page.ttl}`);
  reply.header("last-modified", lastModified);
  vary(reply, "accept-encoding");
  // If two documents have the same `Last-Modified`, it does not tell which of them the caller has. Then only the ETag
  // counts.
  const known = { etag: page.etag, ...(page.sharesSecond ? {} : { "last-modified": lastModified }) };
  if (fresh(conditionsOf(headers), known)) return { status: 304 as const, body: undefined };
  const { bytes, coding } = await page.inCoding(headers["accept-encoding"]?.toString());
  if (coding !== undefined) reply.header("content-encoding", coding);
  reply.header("content-type", "application/json");
  reply.header("content-length", String(bytes.length));
  // ts-rest passes bytes and streams through unchanged; tests check them against the contract's schema. An answer to
  // HEAD sends no body, so it needs no stream that sends a large body in parts.
  const body = (method === "HEAD" ? bytes : inParts(bytes)) as unknown as Document;
  return { status: 200 as const, body };
}

/**
 * Returns the caller's conditional headers without `Cache-Control: no-cache`, which concerns intermediate caches.
 * `fresh` would treat it as a request for the whole document, and some clients (`fetch` of Node) send it with every
 * condition.
 */
function conditionsOf(headers: Call["request"]["headers"]): Record<string, string | undefined> {
  const { "if-none-match": tags, "if-modified-since": date } = headers;
  return { "if-none-match": tags?.toString(), "if-modified-since": date?.toString() };
}

/**
 * The part of a call that these routes need. The types of Fastify differ between its versions, and ts-rest passes the
 * older ones.
 */
interface Call {
  readonly request: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  };
  readonly reply: { getHeader(name: string): unknown; header(name: string, value: string): unknown };
}

/** A document as the contract describes it. */
interface Document {
  last_updated: number | string;
  ttl: number;
  version: PublishedGbfsVersion;
  data: Record<string, unknown>;
}
