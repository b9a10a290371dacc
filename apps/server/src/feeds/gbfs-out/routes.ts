import { type gbfsContract, gbfsVersionPaths, isAtLeast, type PublishedGbfsVersion } from "@bikeshare/contract";
import { ServiceError, serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import fresh from "fresh";
import { type CodedBody, codedBody, inParts, vary } from "../../http/response-body.ts";
import type { PageCache } from "../../storage/background/page-cache.ts";
import { type FeedName, feedsIn, nameIn } from "./discovery.ts";
import { type DocumentName, type GbfsContext, type GbfsDocument, gbfsDocument } from "./service.ts";
import type { SystemList } from "./system-list.ts";
import { hasTexts } from "./writer.ts";

/**
 * Time for which a GBFS feed is served although something has changed. A busy city changes many times a second, and
 * anybody may send requests: with a lower value the list of all bikes is made more often; with a higher one feeds are
 * older than their `ttl` leads callers to expect.
 */
export const FEED_MIN_AGE_MS = 2_000;

/** A document as it is kept: ready to be sent, plain or in gzip. */
interface GbfsPage extends CodedBody, Pick<GbfsDocument, "languages" | "lastUpdated" | "sharesSecond" | "ttl"> {}

/** A kept page, or the error for a feed that does not exist: requests for one then cost no more than for a page. */
export type KeptPage = GbfsPage | ServiceError;

/** The steps of a feed's address. */
interface FeedAddress {
  /** Undefined: the deployment's first system. */
  readonly systemId?: string | undefined;
  readonly version: string;
  readonly language?: string | undefined;
  /** The feed with `.json`. */
  readonly file: string;
}

/** The version whose list of versions names every other. */
const NEWEST = "3.1-RC3";

/** The public feeds. Everybody reads the same few documents, so they are kept as bytes. */
export function gbfsRoutes(
  context: GbfsContext,
  systems: SystemList,
  pages: PageCache<KeptPage>,
): RouterImplementation<typeof gbfsContract> {
  async function answer(address: FeedAddress, { request, reply }: Call) {
    const version = gbfsVersionPaths.get(address.version);
    if (version === undefined) {
      throw serviceError("not_found", "gbfsVersion", { versions: [...gbfsVersionPaths.keys()].join(", ") });
    }
    if (!address.file.endsWith(".json")) throw serviceError("not_found", "feedFile");
    const systemId = await findSystem(address.systemId);
    const feed = feedNamed(version, address.file.slice(0, -".json".length));
    const main = { systemId, version, feed };
    const language = address.language === undefined ? undefined : await findLanguage(main, address.language);
    return send(await pageOf({ ...main, language }), request, reply);
  }

  async function findSystem(named: string | undefined): Promise<string> {
    const id = named ?? (await systems.first());
    if (id === undefined) throw serviceError("not_found", "noSystem");
    if (named !== undefined && !(await systems.has(id))) throw serviceError("not_found", "system");
    return id;
  }

  /** Returns the language of a document of its own; undefined where it is the same as in the main language. */
  async function findLanguage(main: DocumentName, named: string): Promise<string | undefined> {
    if (isAtLeast(main.version, "3.0")) throw serviceError("not_found", "path");
    const { languages } = await pageOf({ ...main, feed: "system_information" });
    if (!languages.includes(named)) {
      throw serviceError("not_found", "feedLanguage", { languages: languages.join(", ") });
    }
    return named === languages[0] || main.feed === "gbfs" || !hasTexts(main.feed) ? undefined : named;
  }

  async function pageOf(document: DocumentName): Promise<GbfsPage> {
    const { systemId, version, feed, language = "" } = document;
    const page = await pages.get(systemId, `${version}/${language}/${feed}`, () => makePage(context, document));
    if (page instanceof ServiceError) throw page;
    return page;
  }

  return routesTo(answer);
}

/** Returns the routes, each of which names a document to an answer. */
function routesTo(
  answer: (address: FeedAddress, call: Call) => ReturnType<typeof send>,
): RouterImplementation<typeof gbfsContract> {
  return {
    versions: (call) => answer({ version: NEWEST, file: "gbfs_versions.json" }, call),
    feed23: (call) => answer({ version: "2.3", file: call.params.feed }, call),
    feed30: (call) => answer({ version: "3.0", file: call.params.feed }, call),
    feed: (call) => answer({ version: call.params.version, file: call.params.feed }, call),
    versionsOfSystem: (call) => {
      const { system_id: id } = call.params;
      const file = "gbfs_versions.json";
      return answer(gbfsVersionPaths.has(id) ? { version: id, file } : { systemId: id, version: NEWEST, file }, call);
    },
    feed23OfSystem: (call) => answer({ systemId: call.params.system_id, version: "2.3", file: call.params.feed }, call),
    feed30OfSystem: (call) => answer({ systemId: call.params.system_id, version: "3.0", file: call.params.feed }, call),
    feedOfSystem: (call) => {
      const { system_id: systemId, version, feed: file } = call.params;
      // Without a system's id: a version and a language.
      if (gbfsVersionPaths.has(systemId)) return answer({ version: systemId, language: version, file }, call);
      return answer({ systemId, version, file }, call);
    },
    feedInLanguage: (call) => {
      const { system_id: systemId, version, language, feed: file } = call.params;
      return answer({ systemId, version, language, file }, call);
    },
  };
}

/** @throws ServiceError `not_found` for a name that no system has in this version */
function feedNamed(version: PublishedGbfsVersion, name: string): FeedName {
  const feeds = feedsIn(version);
  const feed = feeds.find((each) => nameIn(version, each) === name);
  if (feed !== undefined) return feed;
  throw serviceError("not_found", "feed", { feeds: feeds.map((each) => nameIn(version, each)).join(", ") });
}

/**
 * Makes a page. 26,000 bikes are 4.5 MB: compressing them for every request would delay all others by 30 to 90 ms, so a
 * page is compressed once.
 */
async function makePage(context: GbfsContext, name: DocumentName): Promise<KeptPage> {
  try {
    const { json, ...document } = await gbfsDocument(context, name);
    return { ...codedBody(json, ["gzip"]), ...document };
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

/** Responds with a page, compressed where the caller accepts it, or with 304. */
async function send(page: GbfsPage, { headers, method }: Call["request"], reply: Call["reply"]) {
  const lastModified = page.lastUpdated.toUTCString();
  reply.header("etag", page.etag);
  reply.header("cache-control", `public, max-age=${page.ttl}`);
  reply.header("last-modified", lastModified);
  vary(reply, "accept-encoding");
  // For two documents from the same second the date does not tell which one a caller has.
  const known = { etag: page.etag, ...(page.sharesSecond ? {} : { "last-modified": lastModified }) };
  if (fresh(conditionsOf(headers), known)) return { status: 304 as const, body: undefined };
  const { bytes, coding } = await page.inCoding(headers["accept-encoding"]?.toString());
  if (coding !== undefined) reply.header("content-encoding", coding);
  reply.header("content-type", "application/json");
  reply.header("content-length", String(bytes.length));
  // ts-rest passes bytes and streams through untouched; the tests hold them against the contract's schema.
  const body = (method === "HEAD" ? bytes : inParts(bytes)) as unknown as Document;
  return { status: 200 as const, body };
}

/**
 * Returns the conditions that a caller sets. `Cache-Control: no-cache` is for caches on the way, and not passed on: `fresh`
 * would take it as the wish for the whole document, and some clients (`fetch` of Node) send it with every condition.
 */
function conditionsOf(headers: Call["request"]["headers"]): Record<string, string | undefined> {
  const { "if-none-match": tags, "if-modified-since": date } = headers;
  return { "if-none-match": tags?.toString(), "if-modified-since": date?.toString() };
}

/**
 * The part of a call that these routes need. Fastify's own types differ between its versions, and ts-rest hands over the
 * older.
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
