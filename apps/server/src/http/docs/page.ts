import { type Guide, guideGroups } from "./guides.ts";
import { escapeHtml, type Section } from "./markdown.ts";
import type { SearchHit } from "./search.ts";

const SERVICE = "Bike-Sharing Data Service";

/** A group of endpoints, as the navigation lists it. */
export interface ReferenceGroup {
  readonly title: string;
  readonly address: string;
}

export interface PageContent {
  readonly title: string;
  readonly content: string;
  /** The address of the page, whose link the navigation marks as current. */
  readonly address: string;
  /** The headings of the page, to jump to. */
  readonly sections?: readonly Section[];
}

/** Returns a page of the guides. */
export function guidePage(page: PageContent, groups: readonly ReferenceGroup[]): string {
  const { title, content, address, sections = [] } = page;
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
    <script src="/docs/js/guides.js"></script>
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
    ...guideGroups.map(({ title, guides }) =>
      list(
        title,
        guides.map(({ slug, title: text }) => link(`/docs/${slug}`, text)),
      ),
    ),
    list(
      "Reference",
      groups.map(({ title, address: to }) => link(to, title)),
    ),
  ].join("\n");
}

/** Returns the cards that lead from the first page to the guides. */
export function guideCards(): string {
  const card = ({ slug, title, summary }: Guide) =>
    `<li><a href="/docs/${slug}"><strong>${escapeHtml(title)}</strong><span>${escapeHtml(summary)}</span></a></li>`;
  return guideGroups
    .map(({ title, guides }) => `<h2>${title}</h2>\n<ul class="guides-cards">\n${guides.map(card).join("\n")}\n</ul>`)
    .join("\n");
}

/** Returns the list of search results. */
export function searchResults(query: string, hits: readonly SearchHit[]): string {
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
