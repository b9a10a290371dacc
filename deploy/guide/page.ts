/* The commands of the operator's pages: each block with its page and heading, and the machines that its first line names. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The operator's pages whose commands are run, in this order, from the root of the repository. */
export const PAGES = ["docs/operations.md", "docs/two-nodes.md", "docs/citus.md"] as const;

export const MACHINES = ["one", "a", "b", "db", "db2", "c"] as const;
export type MachineName = (typeof MACHINES)[number];

/** One block of commands. */
export interface Block {
  /** The nearest heading above it. */
  readonly heading: string;
  /** The line of the page that it begins at. */
  readonly line: number;
  readonly commands: string;
  /** Where its first line, `# On a and b`, says that it is run; empty: it does not say. */
  readonly machines: readonly MachineName[];
}

/** Headings whose commands need what this repository must not have: the variable that says where it is. */
export const OPTIONAL: Readonly<Record<string, { readonly variable: string; readonly reason: string }>> = {
  "Several machines, with Citus": {
    variable: "GUIDE_CITUS",
    reason: "Citus is under the AGPL: name a directory with its files (usr/lib/postgresql, usr/share/postgresql)",
  },
};

/** The blocks of shell commands on a page of Markdown, from top to bottom. */
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
  /** From the root of the repository. */
  readonly page: string;
}

export function readOperationsPages(): readonly PageBlock[] {
  const root = join(import.meta.dirname, "../..");
  return PAGES.flatMap((page) => blocksOf(readFileSync(join(root, page), "utf8")).map((block) => ({ ...block, page })));
}

/** `# On a, b and c: the reason` names three machines. */
function machinesOf(commands: string): readonly MachineName[] {
  const [, names = ""] = /^# On ((?:\w+(?:, (?:then )?| and )?)+)(?::|$)/m.exec(commands.split("\n")[0] ?? "") ?? [];
  const words = names.split(/,? (?:and|then) |, /).filter((word) => word !== "");
  const known = words.flatMap((word) => MACHINES.filter((name) => name === word));
  return known.length === words.length ? known : [];
}
