import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import { type RenderedMarkdown, renderMarkdown } from "./markdown.ts";

/* The guides for partners at /docs: their list, their text, and a search through them and the reference. */

/** A page for partners, made from a Markdown file of the repository. */
export interface Guide {
  /** The slug of its address, `/docs/<slug>`. */
  readonly slug: string;
  /** The guide's title in links and in the navigation. */
  readonly title: string;
  /** The guide's purpose, in a sentence. */
  readonly summary: string;
  /** The path of the Markdown file from the root of the repository. */
  readonly file: string;
}

interface GuideGroup {
  readonly title: string;
  readonly guides: readonly Guide[];
}

/** The page at `/docs`, where partners begin. */
export const startGuide: Guide = {
  slug: "",
  title: "Start here",
  summary: "What partners can do, and the first requests.",
  file: "docs/partners.md",
};

/** The guides in groups, in the order of the navigation. */
export const guideGroups: readonly GuideGroup[] = [
  {
    title: "Guides",
    guides: [
      guide("following-changes", "Following changes", "Keep a copy of stations, bikes and rides up to date."),
      guide("reservations", "Reserving bikes", "Hold a bike for a rider, extend the hold, cancel it."),
      guide("receiving-webhooks", "Receiving webhooks", "Verify, store and work on what is POSTed to you."),
      guide("gbfs", "GBFS feeds", "Read stations and vehicles in the common form, without a key."),
    ],
  },
  {
    title: "Every request",
    guides: [
      guide("errors", "Errors", "Every error code, its message, and what to do about it."),
      guide("limits", "Limits", "How much, how often and for how long."),
    ],
  },
  {
    title: "Tools",
    guides: [
      guide("dashboard", "The dashboard", "Keys, webhooks, deliveries and requests, in a browser."),
      guide("agents", "Connect an agent", "Stations, rides and reservations as tools of a language model."),
      guide("sandbox", "Test against a sandbox", "A city of your own, where tests make things happen."),
      guide("local-testing", "Local testing", "Develop against a fake service, and receive webhooks on your machine."),
      guide(
        "sdk",
        "TypeScript client",
        "Pages, pace, retries and types, without a dependency.",
        "packages/sdk/README.md",
      ),
      guide(
        "sdk-python",
        "Python client",
        "The same for threads and tasks, on httpx.",
        "packages/sdk-python/README.md",
      ),
      guide(
        "webhooks-library",
        "Webhooks library",
        "Receivers for Express, Fastify and fetch handlers.",
        "packages/webhooks/README.md",
      ),
    ],
  },
];

/** All guides except `startGuide`. */
export const guides: readonly Guide[] = guideGroups.flatMap((group) => group.guides);

/** Files that guides link to and that are served unchanged: their addresses, by their paths from the repository's root. */
export const guideFiles: Readonly<Record<string, string>> = {
  "packages/webhooks/vectors.json": "/docs/webhook-vectors.json",
};

function guide(slug: string, title: string, summary: string, file = `docs/${slug}.md`): Guide {
  return { slug, title, summary, file };
}

/** The copy of the documents in the published package. */
const PACKED = join(import.meta.dirname, "files");
/** The directory from which documents are read: that copy if there is one, otherwise the root of the repository. */
const ROOT = existsSync(PACKED) ? PACKED : join(import.meta.dirname, "../../../../..");

/** Reads a document. @param file its path from the root of the repository */
export function readDocument(file: string): Promise<Buffer> {
  return readFile(join(ROOT, file));
}

/** Returns a guide as partners see it, without the parts between `<!-- operators -->` and `<!-- /operators -->`. */
export async function readGuide({ file }: Guide): Promise<string> {
  const text = (await readDocument(file)).toString();
  return text.replaceAll(/<!-- operators -->[^]*?<!-- \/operators -->\n*/g, "");
}

/** Returns the address for a link in a guide; undefined: partners cannot see the link's target. */
export function addressOf({ file }: Guide, target: string): string | undefined {
  if (/^(https?:|mailto:|#|\/)/.test(target)) return target;
  const [path = "", anchor] = target.split("#");
  const found = posix.normalize(posix.join(posix.dirname(file), path));
  const linked = guides.find((each) => each.file === found);
  const address = linked === undefined ? guideFiles[found] : `/docs/${linked.slug}`;
  return address === undefined || anchor === undefined ? address : `${address}#${anchor}`;
}

/** Something that the search can find: a section of a guide, or a part of the reference. */
export interface SearchEntry {
  readonly title: string;
  /** Where the entry is: the title of the guide, or of the group of the reference. */
  readonly within: string;
  readonly address: string;
  readonly text: string;
}

export interface SearchHit extends SearchEntry {
  /** Words around the first match. */
  readonly excerpt: string;
}

const MAX_HITS = 40;
/** Maximum characters of a search. No useful query is as long. */
const MAX_QUERY_LENGTH = 100;
/** Limits the words of a search; further ones are ignored. Too high: one search delays everybody's requests. */
const MAX_WORDS = 8;
/** How many occurrences of a word in a text count at most. */
const MAX_COUNTED = 5;
const EXCERPT_LENGTH = 180;
/** Points for a word in an entry's title. Each counted occurrence in its text gives one point. */
const TITLE_SCORE = 20;
/** Points for an entry that is the beginning of a guide. */
const GUIDE_SCORE = 2;

/** Returns a search entry for each section of the guides. The start page is not searched. */
export function guideEntries(pages: ReadonlyMap<Guide, RenderedMarkdown>): SearchEntry[] {
  return guides.flatMap((page) => {
    const { sections = [] } = pages.get(page) ?? {};
    return sections.map(({ level, title, anchor, text }) => ({
      title: level === 1 ? page.title : title,
      within: level === 1 ? "Guide" : page.title,
      address: level === 1 ? `/docs/${page.slug}` : `/docs/${page.slug}#${anchor}`,
      text: level === 1 ? `${page.summary} ${text}` : text,
    }));
  });
}

/**
 * Returns a search entry for each endpoint, webhook, model and section of the introduction of a document.
 * @param source the name of the document in the addresses of the reference
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

/** Returns the entries with every word of a query. Words in the title rank first, then frequent words in the text. */
export type Search = (query: string) => SearchHit[];

/** An entry with its text in lower case. Prepared once, because anybody may search and a query must be cheap. */
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
  const allWords = query.toLowerCase().slice(0, MAX_QUERY_LENGTH).split(/\s+/);
  // Takes each word once, because a repeated word costs time without changing the result.
  const words = [...new Set(allWords.filter((word) => word !== ""))].slice(0, MAX_WORDS);
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

/**
 * Returns the part of a text around the first occurrence of any of some words, without cutting words; its beginning, if all
 * words are in the title or in `within`.
 */
function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const found = words.map((word) => lower.indexOf(word)).filter((index) => index >= 0);
  const at = found.length === 0 ? 0 : Math.min(...found);
  const start = at > EXCERPT_LENGTH / 2 ? text.indexOf(" ", at - EXCERPT_LENGTH / 2) + 1 : 0;
  const end = text.length <= start + EXCERPT_LENGTH ? text.length : text.lastIndexOf(" ", start + EXCERPT_LENGTH);
  // `end` is before `start` in a text without blanks, of which nothing is shown.
  return `${start > 0 ? "… " : ""}${text.slice(start, Math.max(end, start))}${end < text.length ? " …" : ""}`;
}
