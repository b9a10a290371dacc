import type { gbfsContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import fresh from "fresh";

import { type ReadyBody, readyBody, useReadyBody } from "../../http/ready-body.ts";
import { Refusal } from "../../refusal.ts";
import type { FeedCache } from "./feed-cache.ts";
import { form23, form30, type GbfsForm } from "./form.ts";
import { defaultSystem, type GbfsContext, gbfsDocument } from "./service.ts";

/** A document as it is kept: ready to be sent, with the headers that tell how long it holds. */
export interface GbfsPage extends ReadyBody {
  /** As `Last-Modified` writes it. */
  readonly lastModified: string;
  /** Whether `If-Modified-Since` says which document the caller has. */
  readonly datedExactly: boolean;
  readonly cacheControl: string;
}

/** The public feeds. Everyone reads the same few documents: they are kept ready. */
export function gbfsRoutes(context: GbfsContext, pages: FeedCache<GbfsPage>): RouterImplementation<typeof gbfsContract> {
  /** The first system stays the first, so it is looked up once. */
  let first: string | undefined;

  async function answer(systemId: string | undefined, form: GbfsForm, file: string, { request, reply }: Call) {
    // Pages of any site may read the feeds, and why one could not be had.
    reply.header("access-control-allow-origin", "*");
    if (!file.endsWith(".json")) throw new Refusal("not_found", "There is no such feed: its name ends in .json.");
    const id = systemId ?? (first ??= await defaultSystem(context.db));
    if (id === undefined) throw new Refusal("not_found", "There is no system yet.");
    const feed = file.slice(0, -".json".length);
    const page = await pages.get(id, `${form.version}/${feed}`, () => makePage(context, id, form, feed));
    const body = useReadyBody<Document>(reply, page);
    reply.header("access-control-expose-headers", "ETag");
    reply.header("cache-control", page.cacheControl);
    reply.header("last-modified", page.lastModified);
    // In lower case, as @fastify/compress looks for it: it would add a second one.
    reply.header("vary", "accept-encoding");
    const known = { etag: page.etag, ...(page.datedExactly ? { "last-modified": page.lastModified } : {}) };
    if (!fresh(request.headers, known)) return { status: 200 as const, body };
    reply.removeHeader("content-type");
    return { status: 304 as const, body: undefined };
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

/** What of a call is needed here; Fastify's own types differ between its versions, and ts-rest hands over the older. */
interface Call {
  readonly request: { readonly headers: Readonly<Record<string, string | string[] | undefined>> };
  readonly reply: { header(name: string, value: string): unknown; removeHeader(name: string): unknown };
}

/** What the contract says a document is. */
interface Document {
  last_updated: number | string;
  ttl: number;
  version: "2.3" | "3.0";
  data: Record<string, unknown>;
}

async function makePage(context: GbfsContext, systemId: string, form: GbfsForm, feed: string): Promise<GbfsPage> {
  const { json, lastUpdated, sharesSecond, ttl } = await gbfsDocument(context, systemId, form, feed);
  return {
    ...readyBody(json),
    lastModified: lastUpdated.toUTCString(),
    datedExactly: !sharesSecond,
    cacheControl: `public, max-age=${ttl}`,
  };
}
