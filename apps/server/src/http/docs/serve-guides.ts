import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import type { FastifyInstance } from "fastify";
import { once } from "../../once.ts";
import { kept, MAX_AGE_SECONDS, serveKept } from "../kept-document.ts";
import { codedBody } from "../response-body.ts";
import {
  addressOf,
  createSearch,
  type Guide,
  guideEntries,
  guideFiles,
  guideGroups,
  guides,
  readDocument,
  readGuide,
  referenceEntries,
  type Search,
  type SearchHit,
  startGuide,
} from "./guides.ts";
import { guideMarkdown, llmsFullText, llmsText, markdownPath } from "./markdown-pages.ts";
import { escapeHtml, type RenderedMarkdown, renderMarkdown, type Section } from "./markdown.ts";

/* Serves the guides for partners at /docs (`serveGuides`). The functions before it make their HTML. */

const SERVICE = "Bike-Sharing Data Service";

/** A group of endpoints, as the navigation lists it. */
interface ReferenceGroup {
  readonly title: string;
  readonly address: string;
}

interface PageContent {
  readonly title: string;
  readonly content: string;
  /** The address of the page. The navigation marks its link as current. */
  readonly address: string;
  /** The path of the page as Markdown. */
  readonly markdown?: string;
  /** The headings of the page, to jump to. */
  readonly sections?: readonly Section[];
}

/** Returns a page of the guides. */
function guidePage(page: PageContent, groups: readonly ReferenceGroup[]): string {
  const { title, content, address, markdown, sections = [] } = page;
  const headings = sections.filter(({ level }) => level === 2);
  const contents = headings
    .map(({ title: heading, anchor }) => `<li><a href="#${anchor}">${escapeHtml(heading)}</a></li>`)
    .join("\n");
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeHtml(title)} · ${SERVICE}</title>
    <link rel="stylesheet" href="/docs/css/header.css">
    <link rel="stylesheet" href="/docs/css/guides.css">
${markdown === undefined ? "" : `    <link rel="alternate" type="text/markdown" href="${markdown}">\n`}    <script src="/docs/js/guides.js"></script>
  </head>
  <body class="guides">
${docsHeader("guides")}
    <div class="guides-body">
      <nav id="guides-navigation" class="guides-navigation" aria-label="Documentation" popover>
${navigation(address, groups)}
      </nav>
      <main id="main" tabindex="-1">
        <article>
${content}
        </article>
      </main>
      ${headings.length > 1 ? `<nav class="guides-contents" aria-labelledby="contents"><h2 id="contents">On this page</h2><ul>${contents}</ul></nav>` : ""}
    </div>
  </body>
</html>
`;
}

/** Returns the header of the guides and of the reference. */
export function docsHeader(shown: "guides" | "reference"): string {
  const current = (name: typeof shown) => (name === shown ? ' aria-current="true"' : "");
  const menu =
    shown === "guides"
      ? '<button type="button" class="docs-menu" popovertarget="guides-navigation">Contents</button>'
      : "";
  return `    <header class="docs-header">
      <a class="docs-skip" href="#${shown === "guides" ? "main" : "app"}">Skip to the page</a>
      ${menu}
      <a class="docs-brand" href="/docs">${SERVICE}</a>
      <nav class="docs-links" aria-label="Site">
        <a href="/docs"${current("guides")}>Guides</a>
        <a href="/docs/reference"${current("reference")}>Reference</a>
        <a href="/dashboard">Dashboard</a>
      </nav>
      <form class="docs-search" action="/docs/search" role="search">
        <label class="docs-hidden" for="docs-query">Search guides and reference</label>
        <input id="docs-query" type="search" name="q" maxlength="100" placeholder="Search guides and reference" required>
      </form>
    </header>`;
}

function navigation(address: string, groups: readonly ReferenceGroup[]): string {
  const link = (to: string, text: string) =>
    `<li><a href="${escapeHtml(to)}"${to === address ? ' aria-current="page"' : ""}>${escapeHtml(text)}</a></li>`;
  const list = (title: string, links: readonly string[]) => `<h2>${title}</h2>\n<ul>\n${links.join("\n")}\n</ul>`;
  return [
    `<ul>${link("/docs", "Start here")}</ul>`,
    ...guideGroups.map((group) =>
      list(
        group.title,
        group.guides.map(({ slug, title: text }) => link(`/docs/${slug}`, text)),
      ),
    ),
    list(
      "Reference",
      groups.map(({ title, address: to }) => link(to, title)),
    ),
  ].join("\n");
}

/** Returns the cards on the first page that link to the guides. */
function guideCards(): string {
  const card = ({ slug, title, summary }: Guide) =>
    `<li><a href="/docs/${slug}"><strong>${escapeHtml(title)}</strong><span>${escapeHtml(summary)}</span></a></li>`;
  return guideGroups
    .map((group) => `<h2>${group.title}</h2>\n<ul class="guides-cards">\n${group.guides.map(card).join("\n")}\n</ul>`)
    .join("\n");
}

/** Returns the list of search results. */
function searchResults(query: string, hits: readonly SearchHit[]): string {
  const shown = escapeHtml(query);
  const hit = ({ title, within, address, excerpt }: SearchHit) =>
    `<li><a href="${escapeHtml(address)}">${escapeHtml(title)}</a> <span class="guides-within">${escapeHtml(within)}</span><p>${escapeHtml(excerpt)}</p></li>`;
  const list = `<ol class="guides-results">\n${hits.map(hit).join("\n")}\n</ol>`;
  if (query === "") return "<h1>Search</h1>\n<p>Type what you look for in the field at the top.</p>";
  const count = `${hits.length} ${hits.length === 1 ? "result" : "results"}`;
  return hits.length === 0
    ? `<h1>No results for “${shown}”</h1>\n<p>Try fewer or other words, or look through the contents.</p>`
    : `<h1>${count} for “${shown}”</h1>\n${list}`;
}

interface GuideOptions {
  readonly baseUrl: () => string;
  /** The OpenAPI documents of the reference, to which the guides link and which are searched. */
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
    return codedBody(
      guidePage({ title: guide.title, content, address, markdown: markdownPath(guide), sections }, await groups()),
      ["br", "gzip"],
    );
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
  serveMarkdown(app, options);
  serveFiles(app);
}

/** Serves the guides as Markdown, and the files llms.txt and llms-full.txt, by which programs find them. */
function serveMarkdown(app: FastifyInstance, { baseUrl, partners, feeds }: GuideOptions): void {
  const serve = (path: string, type: "markdown" | "plain", make: () => Promise<string>) =>
    serveKept(app, path, {
      type: `text/${type}; charset=utf-8`,
      make: async () => codedBody(await make(), ["br", "gzip"]),
    });
  for (const guide of [startGuide, ...guides]) {
    serve(markdownPath(guide), "markdown", () => guideMarkdown(guide, baseUrl()));
  }
  serve("/llms.txt", "plain", async () => llmsText(await partners(), baseUrl()));
  serve("/llms-full.txt", "plain", async () => llmsFullText([await partners(), await feeds()], baseUrl()));
}

/** Serves the stylesheets and the script of the pages, and the files that guides link to. */
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

/** Headers that restrict the pages: they load only our files, and cannot turn text into HTML. */
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
