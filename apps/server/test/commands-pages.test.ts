import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readConfig } from "../src/config.ts";
import { leavesOf, optionsOf, programForPages } from "../tools/pages/commands.ts";
import { generatedPage, PAGES_WITH_TABLES } from "../tools/pages/pages.ts";
import { variableGroups } from "../tools/pages/variables.ts";

const root = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const configurationPage = read("docs/configuration.md");

const program = await programForPages();
const nameOf = ({ long, flags }: { readonly long?: string | undefined; readonly flags: string }) => long ?? flags;
const shared = program.createHelp().visibleOptions(program).map(nameOf);

/** Every executable command, by its words. */
const commands = new Map(leavesOf(program).map(({ words, command }) => [words.join(" "), command]));

it.each(PAGES_WITH_TABLES)("%s has the tables that the code makes: otherwise run `pnpm run docs`", async (page) => {
  const { text, made } = await generatedPage(page);
  expect(text).toBe(made);
});

const variables = variableGroups.flatMap((group) => group.variables);

it("the page describes every variable that the configuration reads, and no other", () => {
  const asked = new Set<string>();
  const env = new Proxy<Record<string, string>>({}, { get: (_, name) => void asked.add(String(name)) });
  readConfig(env, "/");
  expect(variables.map(({ name }) => name).toSorted()).toEqual([...asked].toSorted());
  expect(variables.filter(({ value, unset }) => (value === undefined) === (unset === undefined))).toEqual([]);
});

it("the default that the page gives a variable is the value that the configuration has without it", () => {
  const withoutAny = readConfig({}, "/");
  for (const { name, value } of variables) {
    if (value === undefined) continue;
    expect({ ...readConfig({ [name]: value }, "/"), isSystemIdSet: false }, name).toEqual(withoutAny);
  }
});

/** Returns the cells of the first column of the table below a heading. */
function firstColumn(page: string, heading: string): string[] {
  const [, section = ""] = `\n${page}`.split(`\n${heading}\n`);
  const [text = ""] = section.split("\n## ");
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => row.split(/(?<!\\)\|/)[1] ?? "");
}

const coded = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code.replaceAll("\\|", "|"));
const optionsIn = (text: string) => [...text.matchAll(/(?<=^|[\s[|])--[a-z][a-z-]*/g)].map(([name]) => name);

/** All sources of the service. */
const code = readdirSync(join(root, "apps/server/src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
  .map((name) => read(join("apps/server/src", name)))
  .join("\n");

it("the table of conditions has every condition that the log names, and no other", () => {
  const named = code.matchAll(
    /readonly condition = "(\w+)"|\bcondition: "(\w+)"|\bknown\("(\w+)"|\bname: "(unexpected)"/g,
  );
  const conditions = new Set([...named].map(([, ...names]) => names.find((name) => name !== undefined) ?? ""));
  expect(firstColumn(configurationPage, "## Log").flatMap(coded).toSorted()).toEqual([...conditions].toSorted());
});

const guides = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith(".md"),
);

/** Expects that every command and option that a text names exists. */
function expectKnownCommands(text: string): void {
  for (const [, line = ""] of text.matchAll(/(?:^ *|`|@12 )bikeshare ([^<\n`][^\n`]*)/gm)) {
    const words = line.split(/\s+/);
    const name = [words.slice(0, 2).join(" "), words[0] ?? ""].find((each) => commands.has(each));
    // The SDK's command line has the same name.
    if (name === undefined && /^(listen|verify|--system)\b/.test(line)) continue;
    expect(name, line).toBeDefined();
    const known = optionsOf(commands.get(name ?? "") ?? program).map(nameOf);
    expect([...known, ...shared], line).toEqual(expect.arrayContaining(optionsIn(line.split(" #")[0] ?? "")));
  }
}

it.each(guides)("%s names only commands and options that there are", (guide) => {
  expectKnownCommands(read(guide).replaceAll("\\\n", " "));
});

it("messages name only commands and options that there are", () => {
  // In a template the backtick is escaped, and a value may stand where an option could.
  const messages = code.replaceAll("\\`", "`").replaceAll(/\$\{(?:context\.)?systemOption\}/g, "");
  expect(messages).toContain("`bikeshare doctor`");
  expectKnownCommands(messages);
});
