import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { guides } from "../src/http/docs/guides.ts";
import { startTestApp, type TestApp } from "./app.ts";

let app: TestApp;
const pages = new Map<string, string>();

beforeAll(async () => {
  app = await startTestApp();
  for (const path of ["/docs", ...guides.map(({ slug }) => `/docs/${slug}`)]) {
    const response = await fetch(app.url + path);
    expect([path, response.status]).toEqual([path, 200]);
    pages.set(path, await response.text());
  }
});

afterAll(() => app.close());

/** Returns the article of a page, without the head and the navigation. */
function articleOf(page: string): string {
  return /<article>(.*)<\/article>/s.exec(page)?.[1] ?? "";
}

function textOf(html: string): string {
  return html.replaceAll(/<[^>]+>/g, "");
}

describe("the guides", () => {
  it("speak to partners: of nothing that the operator alone has, sets or runs, and of no file of the repository", () => {
    const forbidden = {
      "a setting of the service":
        /\b(PUBLIC_URL|DATABASE_URL|DATA_DIR|CORS_ORIGINS|SMTP_URL|OIDC_\w+|WEBHOOK_ALLOW_\w+)\b/,
      "a command of the operator":
        /\bpnpm\b|(?<!-m )\bbikeshare (?!-|import )\w+|\bconsole (invite|reset)\b|\bwebhooks (set|test|rotate)\b/,
      "a file of the repository": /\b(packages|apps|docs|deploy)\/[\w-]+[./]|\b\w+\.md\b/,
      "what partners do in the dashboard": /ask the operator (to (resume|replace|remove|sign)|for a test)/i,
    };
    for (const [path, page] of pages) {
      for (const [what, pattern] of Object.entries(forbidden))
        expect(pattern.exec(textOf(articleOf(page)))?.[0], `${path}: ${what}`).toBeUndefined();
    }
  });

  it("lead to each other, to the reference and to the dashboard, at anchors that exist", () => {
    for (const [path, page] of pages) {
      for (const [, address = ""] of page.matchAll(/ href="([^"]*)"/g)) {
        if (/^https?:|^\/(dashboard$|openapi)/.test(address)) continue;
        const [target = "", anchor] = address.split("#");
        const known = target === "" ? page : pages.get(target);
        if (known === undefined)
          expect(target, path).toMatch(
            /^\/(llms\.txt|docs\/(reference|[\w-]+\.md|css\/\w+\.css|webhook-vectors\.json))$/,
          );
        else if (anchor !== undefined) expect(known, `${path}: ${address}`).toContain(` id="${anchor}"`);
      }
    }
  });

  it("stand in one navigation with the groups of the reference, which marks the page that is shown", () => {
    for (const [path, page] of pages) {
      expect(page).toContain('href="/docs/reference#partners/tag/reservations"');
      for (const { slug } of guides) expect(page).toContain(`href="/docs/${slug}"`);
      expect([...page.matchAll(/href="([^"]+)" aria-current="page"/g)].map(([, shown]) => shown)).toEqual([path]);
    }
  });

  it("run and show files of ours alone, and let no text become a page or a program", async () => {
    for (const path of [...pages.keys(), "/docs/search?q=%3Cscript%3E"]) {
      const { headers } = await fetch(app.url + path);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
    }
    for (const [path, page] of pages) expect(page, path).not.toMatch(/<script(?! src="\/docs\/js\/)| style=| on\w+="/);
  });

  it("are what the pages of the dashboard lead to", () => {
    const source = readFileSync(join(import.meta.dirname, "../../dashboard/src/partner-pages.ts"), "utf8");
    const linked = [...source.matchAll(/guide: "([^"]+)"/g)].map(([, guide = ""]) => guide.split("#"));
    expect(linked.length).toBeGreaterThan(5);
    for (const [slug = "", anchor = ""] of linked) {
      expect(pages.get(`/docs/${slug}`), slug).toContain(anchor === "" ? "<h1" : ` id="${anchor}"`);
    }
  });

  it("have one title, and give the language of the page", () => {
    for (const [path, page] of pages) {
      expect(page.match(/<h1/g), path).toHaveLength(1);
      expect(page).toContain('<html lang="en">');
    }
  });
});

describe("the search", () => {
  const search = async (query: string) => (await fetch(`${app.url}/docs/search?q=${encodeURIComponent(query)}`)).text();

  it.each([
    ["signature", "/docs/receiving-webhooks#verify"],
    ["fake", "/docs/local-testing"],
    ["too_many_reservations", "/docs/reservations#how-many-at-once"],
    ["reserve a bike", "/docs/reference#partners/tag/reservations/POST/v1/reservations"],
    ["/v1/bikes", "/docs/reference#partners/tag/bikes/GET/v1/bikes"],
    ["ride.completed", "/docs/reference#partners/tag/webhooks/webhook/POST/ride.completed"],
    ["duration_seconds", "/docs/reference#partners/models"],
    ["rate limit", "/docs/limits#the-rate-limit"],
    ["retention", "/docs/limits#retention"],
    ["hold maximum", "/docs/limits"],
  ])("finds %s in the guides and in the reference", async (query, address) => {
    expect(articleOf(await search(query))).toContain(`href="${address}"`);
  });

  it("shows what was typed as text, finds nothing for nonsense, and takes any query", async () => {
    expect(await search("<script>alert(1)</script>")).toContain("“&lt;script&gt;alert(1)&lt;/script&gt;”");
    expect(await search("xyzzy")).toContain("No results");
    for (const query of ["?q=", "?q=a&q=b", "", `?q=${"a".repeat(5_000)}`])
      expect((await fetch(`${app.url}/docs/search${query}`)).status).toBe(200);
  });
});
