import { expect, it } from "vitest";
import { renderMarkdown } from "./markdown.ts";

const render = (source: string) => renderMarkdown(source, (target) => (target.startsWith("/") ? target : undefined));

it("shows HTML of a file as text, and drops comments", () => {
  const hostile = '<script>alert(1)</script>\n\na <img src=x onerror="alert(1)"> b\n\n<!-- a note -->\n';
  expect(render(hostile).html).not.toMatch(/<script|<img|<!--/);
  expect(render("`<b>`, **<i>**\n\n```sh\n<u>&\n```\n").html).not.toMatch(/<[biu]>/);
});

it("links to what its readers are shown, and leaves the text of any other link", () => {
  const { html } = render('[one](/docs/errors) [two](../secret.md) [three](javascript:alert(1)) ![four](x.png "y")');
  expect(html).toBe('<p><a href="/docs/errors">one</a> two three four</p>\n');
  expect(render('[a](/x"onclick="alert(1))').html).not.toContain('"onclick');
});

it("gives each heading the anchor that it has on GitHub, and the search its words", () => {
  const { html, sections } = render(
    "# All\n\nFirst.\n\n## When it `fails`, how?\n\nSecond.\n\n## All\n\n```sh\ncurl x\n```\n",
  );
  expect([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)).toEqual(["all", "when-it-fails-how", "all-1"]);
  expect(sections).toEqual([
    { level: 1, title: "All", anchor: "all", text: "First." },
    { level: 2, title: "When it fails, how?", anchor: "when-it-fails-how", text: "Second." },
    { level: 2, title: "All", anchor: "all-1", text: "curl x" },
  ]);
});

it("lets the keyboard scroll code and tables that are wider than the page", () => {
  const { html } = render("```ts\nlet a;\n```\n\n| a | |\n|---|---|\n| 1 | 2 |\n");
  expect(html).toContain("<thead><tr><th>a</th><td></td></tr></thead>");
  expect(html).toContain('<figcaption>TypeScript</figcaption><pre tabindex="0">');
  expect(html).toContain('<div class="table" role="group" aria-label="Table" tabindex="0">');
});
