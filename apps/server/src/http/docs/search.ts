import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import { type Guide, guides } from "./guides.ts";
import { renderMarkdown, type RenderedMarkdown } from "./markdown.ts";

/** Something that can be found. */
export interface SearchEntry {
  readonly title: string;
  /** Names the place of the entry: the guide, or the group of the reference. */
  readonly within: string;
  readonly address: string;
  readonly text: string;
}

export interface SearchHit extends SearchEntry {
  /** Words around the first match. */
  readonly excerpt: string;
}

const MAX_HITS = 40;
/** Longer than any useful query. */
const MAX_QUERY_LENGTH = 100;
/** Limits the words of a search; further ones are ignored. Too high: one search delays everybody's requests. */
const MAX_WORDS = 8;
/** Times that a word in a text counts. */
const MAX_COUNTED = 5;
const EXCERPT_LENGTH = 180;
const TITLE_SCORE = 20;
const GUIDE_SCORE = 2;

/** Returns a search entry for each section of the guides. */
export function guideEntries(pages: ReadonlyMap<Guide, RenderedMarkdown>): SearchEntry[] {
  return guides.flatMap((guide) => {
    const { sections = [] } = pages.get(guide) ?? {};
    return sections.map(({ level, title, anchor, text }) => ({
      title: level === 1 ? guide.title : title,
      within: level === 1 ? "Guide" : guide.title,
      address: level === 1 ? `/docs/${guide.slug}` : `/docs/${guide.slug}#${anchor}`,
      text: level === 1 ? `${guide.summary} ${text}` : text,
    }));
  });
}

/**
 * Returns the endpoints, webhooks and introduction of a document.
 * @param source how the reference names the document in its addresses
 */
export function referenceEntries(document: OpenApiDocument, source: string): SearchEntry[] {
  const groups = new Map(document.tags.map((tag) => [tag.name, tag["x-displayName"]]));
  const base = `/docs/reference#${source}`;
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(
      ([
        method,
        {
          summary = "",
          description = "",
          tags: [tag = ""],
          parameters = [],
        },
      ]) => ({
        title: summary,
        within: groups.get(tag) ?? tag,
        address: `${base}/tag/${tag.toLowerCase()}/${method.toUpperCase()}${path}`,
        text: `${method.toUpperCase()} ${path} ${description} ${parameters.map((each) => ("name" in each ? each.name : "")).join(" ")}`,
      }),
    ),
  );
  const webhooks = Object.entries(document.webhooks).map(([event, { post }]) => ({
    title: event,
    within: "Webhooks",
    address: `${base}/tag/webhooks/webhook/POST/${event}`,
    text: post?.description ?? "",
  }));
  const { sections } = renderMarkdown(document.info.description, () => undefined);
  const introduction = sections.map(({ title, anchor, text }) => ({
    title,
    within: "Reference",
    address: `${base}/description/${anchor}`,
    text,
  }));
  const models = Object.entries(document.components.schemas).map(([name, { description = "", properties = {} }]) => ({
    title: name,
    within: "Model",
    address: `${base}/models`,
    text: `${String(description)} ${Object.keys(properties as object).join(" ")}`,
  }));
  return [...introduction, ...operations, ...webhooks, ...models];
}

/** Returns the entries that have every word of a query, best first: those that have it in their title, then those that say it often. */
export type Search = (query: string) => SearchHit[];

/** An entry with its text in lower case: search is public, so that a query must not repeat this work. */
interface LoweredEntry {
  readonly entry: SearchEntry;
  readonly title: string;
  readonly text: string;
}

export function createSearch(entries: readonly SearchEntry[]): Search {
  const lowered = entries.map((entry) => ({
    entry,
    title: entry.title.toLowerCase(),
    text: `${entry.within} ${entry.text}`.toLowerCase(),
  }));
  return (query) => search(lowered, query);
}

function search(entries: readonly LoweredEntry[], query: string): SearchHit[] {
  // Each word once: a repeated one would cost as much again, and say nothing more.
  const words = [...new Set(query.toLowerCase().slice(0, MAX_QUERY_LENGTH).split(/\s+/).filter(Boolean))].slice(
    0,
    MAX_WORDS,
  );
  if (words.length === 0) return [];
  const scored = entries.flatMap(({ entry, title, text }) => {
    let score = entry.address.includes("#") ? 0 : GUIDE_SCORE;
    for (const word of words) {
      const wordScore = (title.includes(word) ? TITLE_SCORE : 0) + countOf(text, word);
      if (wordScore === 0) return [];
      score += wordScore;
    }
    return [{ entry, score }];
  });
  return scored
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MAX_HITS)
    .map(({ entry }) => ({ ...entry, excerpt: excerptOf(entry.text, words) }));
}

/** Returns how often a word occurs in a text, up to `MAX_COUNTED`. */
function countOf(text: string, word: string): number {
  let count = 0;
  for (let at = text.indexOf(word); at !== -1 && count < MAX_COUNTED; at = text.indexOf(word, at + word.length))
    count++;
  return count;
}

function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const at = Math.max(
    0,
    Math.min(...words.map((word) => lower.indexOf(word)).filter((index) => index >= 0), text.length),
  );
  const start = at > EXCERPT_LENGTH / 2 ? text.indexOf(" ", at - EXCERPT_LENGTH / 2) + 1 : 0;
  const end = text.length <= start + EXCERPT_LENGTH ? text.length : text.lastIndexOf(" ", start + EXCERPT_LENGTH);
  return `${start > 0 ? "… " : ""}${text.slice(start, Math.max(end, start))}${end < text.length ? " …" : ""}`;
}
