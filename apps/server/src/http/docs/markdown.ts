import { Marked, type Tokens } from "marked";

/** A heading and the text below it, up to the next heading. */
export interface Section {
  readonly level: number;
  readonly title: string;
  readonly anchor: string;
  /** The section's text, for the search. */
  readonly text: string;
}

export interface RenderedMarkdown {
  readonly html: string;
  /** The first section has the title of the page. */
  readonly sections: readonly Section[];
}

/** Returns the address for a link's target; undefined: only the link's text is shown. */
type AddressOf = (target: string) => string | undefined;

/**
 * Renders Markdown as the content of a page. HTML in the Markdown is shown as text, so that it cannot change the page;
 * comments are left out, and a picture becomes its text.
 */
export function renderMarkdown(source: string, addressOf: AddressOf): RenderedMarkdown {
  const marked = new Marked({ gfm: true });
  const anchors = new Map<string, number>();
  const sections: Section[] = [];
  marked.use({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const anchor = uniqueAnchor(text, anchors);
        const content = this.parser.parseInline(tokens);
        if (depth === 1) return `<h1 id="${anchor}">${content}</h1>\n`;
        return `<h${depth} id="${anchor}">${content} <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a></h${depth}>\n`;
      },
      html: ({ text }: Tokens.HTML | Tokens.Tag) => (text.trimStart().startsWith("<!--") ? "" : escapeHtml(text)),
      link({ href, tokens }: Tokens.Link) {
        const address = addressOf(href);
        const content = this.parser.parseInline(tokens);
        if (address === undefined) return content;
        const isElsewhere = /^https?:/.test(address);
        return `<a href="${escapeHtml(address)}"${isElsewhere ? ' rel="noopener noreferrer"' : ""}>${content}</a>`;
      },
      image: ({ text }: Tokens.Image) => escapeHtml(text),
      code: ({ text, lang }: Tokens.Code) => codeBlock(text, lang ?? ""),
      table(token: Tokens.Table) {
        const cells = (row: readonly Tokens.TableCell[], tag: "th" | "td") =>
          row.map((cell) => tableCell(this.parser.parseInline(cell.tokens), tag)).join("");
        const isHeaded = token.header.some(({ text }) => text !== "");
        const head = isHeaded ? `<thead><tr>${cells(token.header, "th")}</tr></thead>` : "";
        const body = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
        return `<div class="table" role="group" aria-label="Table" tabindex="0"><table>${head}<tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(source, { async: false });
  collectSections(marked.lexer(source), sections);
  return { html, sections };
}

/** Returns a table cell. An empty header cell becomes a `td`, because it is the header of nothing. */
function tableCell(content: string, tag: "th" | "td"): string {
  const own = content === "" ? "td" : tag;
  return `<${own}>${content}</${own}>`;
}

function codeBlock(text: string, language: string): string {
  const label = languages[language] ?? language;
  const caption = label === "" ? "" : `<figcaption>${escapeHtml(label)}</figcaption>`;
  return `<figure class="code">${caption}<pre tabindex="0"><code>${escapeHtml(text)}</code></pre></figure>\n`;
}

const languages: Readonly<Record<string, string>> = {
  sh: "Shell",
  ts: "TypeScript",
  js: "JavaScript",
  python: "Python",
  go: "Go",
  json: "JSON",
  http: "HTTP",
  text: "",
};

/**
 * Adds a section for each heading. Counts anchors anew in the order of the renderer, so that both give a heading the same
 * one. Text before the first heading is left out.
 */
function collectSections(tokens: ReturnType<Marked["lexer"]>, sections: Section[]): void {
  const anchors = new Map<string, number>();
  for (const token of tokens) {
    if (token.type === "heading") {
      const { depth, text } = token as Tokens.Heading;
      sections.push({ level: depth, title: plain(text), anchor: uniqueAnchor(text, anchors), text: "" });
    } else if (token.type !== "html") {
      const last = sections.pop();
      if (last !== undefined) sections.push({ ...last, text: `${last.text} ${plain(token.raw)}`.trim() });
    }
  }
}

/** Removes the marks of Markdown, as far as the search needs it: link targets, fences of code, and single marks. */
function plain(text: string): string {
  return text
    .replaceAll(/\]\([^)]*\)/g, " ")
    .replaceAll(/^```\w*$/gm, " ")
    .replaceAll(/[`*]/g, "")
    .replaceAll(/[|[\]#]/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** Returns the anchor that GitHub gives to a heading, so that links between documents work on GitHub and here. */
function uniqueAnchor(heading: string, seen: Map<string, number>): string {
  const anchor = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
  const earlier = seen.get(anchor) ?? 0;
  seen.set(anchor, earlier + 1);
  return earlier === 0 ? anchor : `${anchor}-${earlier}`;
}

/** Escapes a text for HTML, also within double quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
