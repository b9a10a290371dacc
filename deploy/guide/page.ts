/*
 * Reads the commands of the operator's pages: each block with its page, its heading, and the machines that its first line
 * names.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The operator's pages whose commands are run, in this order. Paths are relative to the root of the repository. */
export const PAGES = ["docs/operations.md", "docs/two-nodes.md", "docs/citus.md"] as const;

/**
 * The machines by the names that the pages use, such as `a` and `b` for the two that serve, and `db` for PostgreSQL.
 */
export const MACHINES = ["one", "a", "b", "db", "db2", "c"] as const;
export type MachineName = (typeof MACHINES)[number];

/** One block of commands. */
export interface Block {
  /** The nearest heading above it. */
  readonly heading: string;
  /** The line of the page at which the block begins. */
  readonly line: number;
  readonly commands: string;
  /** The machines that its first line names, such as `# On a and b`. Empty: it names none. */
  readonly machines: readonly MachineName[];
}

/**
 * Headings whose commands need files that this repository must not contain. The variable names the directory with these
 * files.
 */
export const OPTIONAL: Readonly<Record<string, { readonly variable: string; readonly reason: string }>> = {
  "Several machines, with Citus": {
    variable: "GUIDE_CITUS",
    reason: "Citus is under the AGPL: name a directory with its files (usr/lib/postgresql, usr/share/postgresql)",
  },
};

/** Returns the blocks of shell commands on a Markdown page, in order. */
export function blocksOf(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  let heading = "";
  let open: { readonly line: number; readonly lines: string[] } | undefined;
  for (const [index, text] of markdown.split("\n").entries()) {
    if (open !== undefined && text === "```") {
      const commands = open.lines.join("\n");
      blocks.push({ heading, line: open.line, commands, machines: machinesOf(commands) });
      open = undefined;
    } else if (open !== undefined) open.lines.push(text);
    else if (text === "```sh") open = { line: index + 1, lines: [] };
    else heading = /^#+ (.*)/.exec(text)?.[1] ?? heading;
  }
  return blocks;
}

/** A block of one of the operator's pages. */
export interface PageBlock extends Block {
  /** The path of the page, relative to the root of the repository. */
  readonly page: string;
}

/** Returns the blocks of all pages, in their order. */
export function readOperationsPages(): readonly PageBlock[] {
  const root = join(import.meta.dirname, "../..");
  return PAGES.flatMap((page) => blocksOf(readFileSync(join(root, page), "utf8")).map((block) => ({ ...block, page })));
}

/**
 * Returns the machines that the first line names: `# On a, b and c: the reason` names three, `# On a, then b` names two.
 * Empty if a word of the list is no machine.
 */
function machinesOf(commands: string): readonly MachineName[] {
  const [firstLine = ""] = commands.split("\n");
  const [, names = ""] = /^# On ((?:\w+(?:, (?:then )?| and )?)+)(?::|$)/.exec(firstLine) ?? [];
  const words = names.split(/,? (?:and|then) |, /).filter((word) => word !== "");
  const known = words.flatMap((word) => MACHINES.filter((name) => name === word));
  return known.length === words.length ? known : [];
}
