import { expect, it } from "vitest";
import { guides } from "../src/http/docs/guides.ts";
import { startTestApp } from "./app.ts";
import { endpoints } from "./endpoints.ts";

it("every page of the documentation is there as Markdown, says so, and leads to others", async () => {
  const app = await startTestApp();
  const read = async (path: string) => {
    const response = await fetch(app.url + path);
    expect([path, response.status]).toEqual([path, 200]);
    return { type: response.headers.get("content-type"), text: await response.text() };
  };
  const llms = await read("/llms.txt");
  expect(llms.type).toBe("text/plain; charset=utf-8");
  expect(llms.text).toMatch(/^# .+\n\n> .+\n/);
  const full = await read("/llms-full.txt");
  const pages = [
    ["/docs", "/docs/index.md"],
    ...guides.map(({ slug }) => [`/docs/${slug}`, `/docs/${slug}.md`]),
    ["/docs/reference", "/docs/reference.md"],
    ["/docs/operator", "/docs/operator.md"],
  ] as const;
  for (const [page = "", markdown = ""] of pages) {
    expect((await read(page)).text).toContain(`<link rel="alternate" type="text/markdown" href="${markdown}">`);
    const { type, text } = await read(markdown);
    expect(type).toBe("text/markdown; charset=utf-8");
    expect(text).toMatch(/^# /);
    expect(text).not.toContain("<!--");
    if (markdown !== "/docs/operator.md") {
      expect(llms.text).toContain(`](http://127.0.0.1${markdown})`);
      expect(full.text).toContain(text.trim());
    }
    for (const [, target = ""] of text.matchAll(/\]\(http:\/\/127\.0\.0\.1(\/[^)#\s]*)/g)) {
      if (!/^\/(dashboard|gbfs|v1)/.test(target)) await read(target);
    }
    // No relative links, because partners cannot open files of the repository.
    expect(text.replaceAll(/```[^]*?```|`[^`\n]*`/g, "")).not.toMatch(/\]\((?!https?:|#|mailto:)/);
  }
  const reference = (await read("/docs/reference.md")).text + (await read("/docs/operator.md")).text;
  for (const { method, path, scope } of endpoints) {
    const heading = `### ${method} ${path.replaceAll("sample-1", "{id}")}\n`;
    expect(reference).toContain(heading);
    const section = reference.split(heading)[1]?.split("\n### ")[0];
    if (scope !== "none")
      expect(section).toContain(scope === "any" ? "Needs a key, whatever its scopes" : `the scope \`${scope}\``);
  }
  await app.close();
});
