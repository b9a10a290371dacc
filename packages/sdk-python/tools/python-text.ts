/** Functions that write pieces of Python code, for all generated files. */

const MAX_LINE_LENGTH = 120;
/** All keywords of Python 3. None of them can be the name of an argument or of a field. */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...["False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del"],
  ...["elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal"],
  ...["not", "or", "pass", "raise", "return", "try", "while", "with", "yield"],
]);

export const isKeyword = (name: string): boolean => KEYWORDS.has(name);

/** Returns the Python argument for a name: `from_` for `from`. */
export const argumentName = (name: string): string => (isKeyword(name) ? `${name}_` : name);

/** Returns `vehicle_types` for `vehicleTypes`. */
export const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns `VehicleTypes` for `vehicle_types` and `vehicleTypes`. */
export const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|[_.])([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Returns a text as a docstring, with wrapped lines. */
export function docstring(text: string, indent: string): string {
  const safe = text.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"');
  const full = /[.?!)`]$/.test(safe) ? safe : `${safe}.`;
  // Each line leaves room for the quotes before and after it: six characters.
  const lines = full.split("\n").flatMap((line) => wrap(line, MAX_LINE_LENGTH - indent.length - 6));
  const body = lines.map((line, index) => (index === 0 || line === "" ? line : indent + line)).join("\n");
  return lines.length === 1 ? `${indent}"""${body}"""` : `${indent}"""${body}\n${indent}"""`;
}

function wrap(text: string, length: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + 1 + word.length > length) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}

/** Returns items between brackets: on one line if they fit, otherwise each on its own line. */
export function bracketed(before: string, items: readonly string[], after: string, indent: string): string {
  const one = `${indent}${before}${items.join(", ")}${after}`;
  if (one.length <= MAX_LINE_LENGTH) return one;
  return `${indent}${before}\n${items.map((item) => `${indent}    ${item},\n`).join("")}${indent}${after}`;
}
