import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CommandUnknownOpts as Command, Option } from "@commander-js/extra-typings";
import { expect, it } from "vitest";
import { createProgram } from "../src/cli/command-line.ts";
import { readConfig } from "../src/config.ts";

const root = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const commandsPage = read("docs/commands.md");
const configurationPage = read("docs/configuration.md");

const program = await createProgram("1", () => {
  throw new Error("no command runs here");
});
const shared = program.createHelp().visibleOptions(program).map(nameOf);

/** Every command that does something, by its words. */
const commands = new Map(leavesOf(program, []).map(({ words, command }) => [words.join(" "), command]));

function leavesOf(command: Command, words: readonly string[]): { words: readonly string[]; command: Command }[] {
  const below = command.commands.flatMap((each) => leavesOf(each, [...words, each.name()]));
  // Nothing public says whether a command with commands below it does something by itself, as `migrate` does.
  const doesSomething = Reflect.get(command, "_actionHandler") !== null;
  return below.length === 0 || (doesSomething && words.length > 0) ? [{ words, command }, ...below] : below;
}

function nameOf({ long, flags }: Option): string {
  return long ?? flags;
}

/** The options that `--help` of a command shows, without those of every command. */
function optionsOf(command: Command): Option[] {
  const help = command.createHelp();
  return help.visibleOptions(command).filter((option) => nameOf(option) !== "--help");
}

/** The cells of the first column of the table below a heading. */
function firstColumn(page: string, heading: string): string[] {
  const [, section = ""] = `\n${page}`.split(`\n${heading}\n`);
  const [text = ""] = section.split("\n## ");
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => row.split(/(?<!\\)\|/)[1] ?? "");
}

const coded = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code.replaceAll("\\|", "|"));
const optionsIn = (text: string) => [...text.matchAll(/(?<=^|[\s[|])--[a-z][a-z-]*/g)].map(([name]) => name);

/** What the page's table says of each command: all that stands behind its words. */
function tableOfCommands(): Map<string, string> {
  const said = new Map<string, string>();
  for (const cell of firstColumn(commandsPage, "# Commands")) {
    const spans = coded(cell);
    // "`webhooks show`, `pause`, `resume`, each with `--partner <id>`": what stands alone holds for every command.
    const alone = spans.filter((span) => span.startsWith("--")).join(" ");
    let group: readonly string[] = [];
    for (const span of spans.filter((each) => !each.startsWith("--"))) {
      const [words = ""] = /^[a-z][a-z-]*(?: [a-z][a-z-]*)*/.exec(span) ?? [];
      const isFull = program.commands.some((command) => command.name() === words.split(" ")[0]);
      const name = isFull ? words : [...group, words].join(" ");
      if (isFull) group = words.split(" ").slice(0, -1);
      said.set(name, [said.get(name) ?? "", span.slice(words.length), alone].join(" "));
    }
  }
  return said;
}

const table = tableOfCommands();

it("the table of commands has every command of the program, and no other", () => {
  expect([...table.keys()].toSorted()).toEqual([...commands.keys()].toSorted());
  expect(commands.size).toBeGreaterThan(40);
});

it("the table of commands has every option that --help shows, and no other", () => {
  for (const [name, command] of commands) {
    const options = new Set(optionsOf(command).map(nameOf));
    expect(new Set(optionsIn(table.get(name) ?? "")), name).toEqual(options);
  }
  for (const option of shared.filter((each) => !["--version", "--help"].includes(each))) {
    expect(commandsPage.split("\n| command |")[0]).toContain(`\`${option}`);
  }
});

/** What `--help` shows as the default; the `true` that stands for a `--no-…` is not shown. */
function shownDefault({ defaultValueDescription, defaultValue }: Option): string | undefined {
  const shown: unknown = defaultValueDescription ?? defaultValue;
  return typeof shown === "string" || typeof shown === "number" ? String(shown) : undefined;
}

it("the table of commands has every default, and a number behind an option is its default", () => {
  for (const [name, command] of commands) {
    const text = table.get(name) ?? "";
    const defaults = new Map(optionsOf(command).map((each) => [nameOf(each), shownDefault(each)]));
    for (const [option, value] of defaults) {
      if (value !== undefined) expect(`${text} `, name).toMatch(new RegExp(`${option} ${value}[\\] |]`));
    }
    for (const [, option = "", value] of text.matchAll(/(--[a-z-]+) (\d\w*)/g))
      expect(defaults.get(option)).toBe(value);
  }
});

it("the table of variables has every variable that the configuration reads, and no other", () => {
  const asked = new Set<string>();
  const env = new Proxy<Record<string, string>>({}, { get: (_, name) => void asked.add(String(name)) });
  readConfig(env, "/");
  expect(firstColumn(configurationPage, "## Variables").flatMap(coded).toSorted()).toEqual([...asked].toSorted());
});

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

/** Fails for a command or an option that a text names and that there is not. */
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
  const messages = code.replaceAll("\\`", "`");
  expect(messages).toContain("`bikeshare doctor`");
  expectKnownCommands(messages);
});
