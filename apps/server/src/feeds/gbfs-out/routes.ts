import type { gbfsContract } from "@bikeshare/contract";
import { ServiceError, serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import fresh from "fresh";
import { type CodedBody, codedBody, inParts, vary } from "../../http/response-body.ts";
import type { PageCache } from "../../storage/background/page-cache.ts";
import { form23, form30, type GbfsForm } from "./documents.ts";
import { type GbfsContext, type GbfsDocument, gbfsDocument, requireFeed } from "./service.ts";
import type { SystemList } from "./system-list.ts";

/**
 * Time for which a GBFS feed is served although something has changed. A busy city changes many times a second, and
 * anybody may send requests: with a lower value the list of all bikes is made more often; with a higher one feeds are
 * older than their `ttl` leads callers to expect.
 */
export const FEED_MIN_AGE_MS = 2_000;

/** A document as it is kept: ready to be sent, plain or in gzip. */
interface GbfsPage extends CodedBody, Pick<GbfsDocument, "lastUpdated" | "sharesSecond" | "ttl"> {}

/** A kept page, or the error for a feed that does not exist: requests for one then cost no more than for a page. */
export type KeptPage = GbfsPage | ServiceError;

/** The public feeds. Everybody reads the same few documents, so they are kept as bytes. */
export function gbfsRoutes(
  context: GbfsContext,
  systems: SystemList,
  pages: PageCache<KeptPage>,
): RouterImplementation<typeof gbfsContract> {
  async function answer(systemId: string | undefined, form: GbfsForm, file: string, { request, reply }: Call) {
    if (!file.endsWith(".json")) throw serviceError("not_found", "feedFile");
    const id = systemId ?? (await systems.first());
    if (id === undefined) throw serviceError("not_found", "noSystem");
    if (systemId !== undefined && !(await systems.has(id))) throw serviceError("not_found", "system");
    const feed = file.slice(0, -".json".length);
    requireFeed(form, feed);
    const page = await pages.get(id, `${form.version}/${feed}`, () => makePage(context, id, form, feed));
    if (page instanceof ServiceError) throw page;
    return send(page, request, reply);
  }

  return {
    versions: (call) => answer(undefined, form30, "gbfs_versions.json", call),
    feed23: (call) => answer(undefined, form23, call.params.feed, call),
    feed30: (call) => answer(undefined, form30, call.params.feed, call),
    versionsOfSystem: (call) => answer(call.params.system_id, form30, "gbfs_versions.json", call),
    feed23OfSystem: (call) => answer(call.params.system_id, form23, call.params.feed, call),
    feed30OfSystem: (call) => answer(call.params.system_id, form30, call.params.feed, call),
  };
}

/**
 * Makes a page. 26,000 bikes are 4.5 MB: compressing them for every request would delay all others by 30 to 90 ms, so a
 * page is compressed once.
 */
async function makePage(context: GbfsContext, systemId: string, form: GbfsForm, feed: string): Promise<KeptPage> {
  try {
    const { json, ...document } = await gbfsDocument(context, systemId, form, feed);
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
  version: "2.3" | "3.0";
  data: Record<string, unknown>;
}
