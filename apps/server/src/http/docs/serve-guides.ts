import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import type { FastifyInstance } from "fastify";
import { kept, MAX_AGE_SECONDS, serveKept } from "../kept-document.ts";
import { codedBody } from "../response-body.ts";
import { addressOf, type Guide, guideFiles, guides, readDocument, readGuide, startGuide } from "./guides.ts";
import { renderMarkdown, type RenderedMarkdown } from "./markdown.ts";
import { guideCards, guidePage, type ReferenceGroup, searchResults } from "./page.ts";
import { createSearch, guideEntries, referenceEntries, type Search } from "./search.ts";

/** The documents of the reference, which the guides lead to and the search looks through. */
export interface GuideOptions {
  readonly partners: () => Promise<OpenApiDocument>;
  readonly feeds: () => Promise<OpenApiDocument>;
}

const HTML = "text/html; charset=utf-8";

/** Serves the guides for partners at /docs, and a search through them and the reference. */
export function serveGuides(app: FastifyInstance, options: GuideOptions): void {
  const groups = once(() => referenceGroups(options));
  const rendered = once(renderGuides);
  const search = once(() => searchOf(options, rendered));
  const page = (guide: Guide) => async () => {
    const { html, sections } = (await rendered()).get(guide) ?? { html: "", sections: [] };
    const isStart = guide === startGuide;
    const address = isStart ? "/docs" : `/docs/${guide.slug}`;
    const content = isStart ? html + guideCards() : html;
    return codedBody(guidePage({ title: guide.title, content, address, sections }, await groups()), ["br", "gzip"]);
  };
  const headers = securityHeaders;
  serveKept(app, "/docs", { type: HTML, make: page(startGuide), headers });
  // Redirects to a fixed path: the caller's Host header must not decide the target.
  app.get("/docs/", (_request, reply) => reply.code(308).header("location", "/docs").send());
  for (const guide of guides) serveKept(app, `/docs/${guide.slug}`, { type: HTML, make: page(guide), headers });
  app.get("/docs/search", async (request, reply) => {
    const { q } = request.query as { q?: unknown };
    const query = typeof q === "string" ? q.trim() : "";
    const content = searchResults(query, (await search())(query));
    reply.header("content-type", HTML).header("x-content-type-options", "nosniff").headers(headers);
    reply.header("cache-control", `public, max-age=${MAX_AGE_SECONDS}`);
    return reply.send(guidePage({ title: "Search", content, address: "/docs/search" }, await groups()));
  });
  serveFiles(app);
}

function serveFiles(app: FastifyInstance): void {
  const file = (type: string, ...names: readonly string[]) =>
    kept({
      type: `${type}; charset=utf-8`,
      make: async () => codedBody(Buffer.concat(await Promise.all(names.map(readDocument))), ["br", "gzip"]),
    });
  const assets = "apps/server/src/http/docs/assets";
  app.get("/docs/css/header.css", file("text/css", "apps/dashboard/src/tokens.css", `${assets}/header.css`));
  app.get("/docs/css/guides.css", file("text/css", `${assets}/guides.css`));
  app.get("/docs/js/guides.js", file("text/javascript", `${assets}/guides.js`));
  for (const [name, address] of Object.entries(guideFiles)) app.get(address, file("application/json", name));
}

/** Makes something when it is first asked for; after a failure, when it is asked for again. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}

async function renderGuides(): Promise<ReadonlyMap<Guide, RenderedMarkdown>> {
  const all = [startGuide, ...guides];
  const made = await Promise.all(
    all.map(async (guide) => renderMarkdown(await readGuide(guide), (target) => addressOf(guide, target))),
  );
  return new Map(all.map((guide, index) => [guide, made[index] ?? { html: "", sections: [] }]));
}

async function searchOf(
  { partners, feeds }: GuideOptions,
  rendered: () => Promise<ReadonlyMap<Guide, RenderedMarkdown>>,
): Promise<Search> {
  return createSearch([
    ...guideEntries(await rendered()),
    ...referenceEntries(await partners(), "partners"),
    ...referenceEntries(await feeds(), "gbfs"),
  ]);
}

/** Returns the groups of endpoints, as the reference names them in its addresses. */
async function referenceGroups({ partners, feeds }: GuideOptions): Promise<ReferenceGroup[]> {
  const groupsOf = ({ tags }: OpenApiDocument, source: string) =>
    tags.map((tag) => ({
      title: tag["x-displayName"],
      address: `/docs/reference#${source}/tag/${tag.name.toLowerCase()}`,
    }));
  return [...groupsOf(await partners(), "partners"), ...groupsOf(await feeds(), "gbfs")];
}

/** Pages load only our files, and do not turn text into pages. */
const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};
