import type { gbfsContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import fresh from "fresh";
import { useReadyBody } from "../../http/ready-body.ts";
import { Refusal } from "../../refusal.ts";
import type { FeedCache } from "./feed-cache.ts";
import { form23, form30, type GbfsForm } from "./form.ts";
import { type GbfsPage, gbfsPage, takesGzip } from "./page.ts";
import { defaultSystem, type GbfsContext, gbfsDocument } from "./service.ts";

/** The public feeds. Everyone reads the same few documents: they are kept ready. */
export function gbfsRoutes(
  context: GbfsContext,
  pages: FeedCache<GbfsPage>,
): RouterImplementation<typeof gbfsContract> {
  /** The first system stays the first, so it is looked up once. */
  let first: string | undefined;

  async function answer(systemId: string | undefined, form: GbfsForm, file: string, { request, reply }: Call) {
    // Pages of any site may read the feeds, and why one could not be had.
    reply.header("access-control-allow-origin", "*");
    if (!file.endsWith(".json")) throw new Refusal("not_found", "There is no such feed: its name ends in .json.");
    const id = systemId ?? (first ??= await defaultSystem(context.db));
    if (id === undefined) throw new Refusal("not_found", "There is no system yet.");
    const feed = file.slice(0, -".json".length);
    const page = await pages.get(id, `${form.version}/${feed}`, async () =>
      gbfsPage(await gbfsDocument(context, id, form, feed)),
    );
    return send(page, request.headers, reply);
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

/** Sends a page: whole, in gzip, or not at all to whoever has it. */
async function send(page: GbfsPage, headers: Call["request"]["headers"], reply: Call["reply"]) {
  reply.header("etag", page.etag);
  reply.header("access-control-expose-headers", "ETag");
  reply.header("cache-control", page.cacheControl);
  reply.header("last-modified", page.lastModified);
  // In lower case, as @fastify/compress looks for it: it would add a second one.
  reply.header("vary", "accept-encoding");
  const known = { etag: page.etag, ...(page.datedExactly ? { "last-modified": page.lastModified } : {}) };
  if (fresh(conditionsOf(headers), known)) return { status: 304 as const, body: undefined };
  if (page.gzipped === undefined || !takesGzip(headers["accept-encoding"]?.toString())) {
    return { status: 200 as const, body: useReadyBody<Document>(reply, page) };
  }
  const bytes = await page.gzipped();
  reply.header("content-encoding", "gzip");
  return { status: 200 as const, body: useReadyBody<Document>(reply, { etag: page.etag, bytes }) };
}

/**
 * The conditions that a caller sets. `Cache-Control: no-cache` is for caches on the way, and not passed on: `fresh`
 * would take it as the wish for the whole document, and some clients (`fetch` of Node) send it with every condition.
 */
function conditionsOf(headers: Call["request"]["headers"]): Record<string, string | undefined> {
  const { "if-none-match": tags, "if-modified-since": date } = headers;
  return { "if-none-match": tags?.toString(), "if-modified-since": date?.toString() };
}

/** What of a call is needed here; Fastify's own types differ between its versions, and ts-rest hands over the older. */
interface Call {
  readonly request: { readonly headers: Readonly<Record<string, string | string[] | undefined>> };
  readonly reply: { header(name: string, value: string): unknown };
}

/** What the contract says a document is. */
interface Document {
  last_updated: number | string;
  ttl: number;
  version: "2.3" | "3.0";
  data: Record<string, unknown>;
}
