/** Text that is already HTML. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = Markup | string | number | readonly Content[] | undefined;

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Builds HTML from a template, and escapes every value that is not markup. */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  return new Markup(parts.reduce((text, part, index) => `${text}${textOf(contents[index - 1])}${part}`));
}

function textOf(content: Content): string {
  if (content === undefined) return "";
  if (content instanceof Markup) return content.text;
  if (typeof content === "string" || typeof content === "number") {
    return String(content).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
  }
  return content.map(textOf).join("");
}
