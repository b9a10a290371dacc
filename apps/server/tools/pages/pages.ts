/* Makes the pages of docs/ that contain a generated table or list. It replaces the text between two comments on a page. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { checksText } from "./checks.ts";
import { commandsText } from "./commands.ts";
import { metricsText } from "./metrics.ts";
import { variablesText } from "./variables.ts";

const root = join(import.meta.dirname, "../../../..");

/** The function that makes each page's table or list, by the page's path from the root of the repository. */
const SECTIONS: Readonly<Record<string, () => string | Promise<string>>> = {
  "docs/commands.md": commandsText,
  "docs/configuration.md": variablesText,
  "docs/metrics.md": metricsText,
  "docs/runbook.md": checksText,
};

export const PAGES_WITH_TABLES = Object.keys(SECTIONS);

export interface GeneratedPage {
  readonly file: string;
  /** The page's present text. */
  readonly text: string;
  /** The text with the table made anew. */
  readonly made: string;
}

/** The first comment, the generated text, and the second comment. */
const GENERATED = /(<!-- generated: .* -->\n)[^]*(<!-- \/generated -->)/;

/** Reads a page and makes its table anew. @param page its path from the root of the repository */
export async function generatedPage(page: string): Promise<GeneratedPage> {
  const file = join(root, page);
  const text = await readFile(file, "utf8");
  if (!GENERATED.test(text)) throw new Error(`${page} has no comments between which its table belongs.`);
  const table = (await SECTIONS[page]?.()) ?? "";
  return {
    file,
    text,
    made: text.replace(GENERATED, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`),
  };
}
