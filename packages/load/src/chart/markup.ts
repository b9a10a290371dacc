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
  // Each part after the first follows one value.
  const [first = "", ...rest] = parts;
  return new Markup(rest.reduce((text, part, index) => `${text}${textOf(contents[index])}${part}`, first));
}

function textOf(content: Content): string {
  if (content === undefined) return "";
  if (content instanceof Markup) return content.text;
  if (typeof content === "string" || typeof content === "number") {
    return String(content).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
  }
  return content.map(textOf).join("");
}
