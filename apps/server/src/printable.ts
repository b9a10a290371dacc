/**
 * Characters that control a terminal or disguise a text: control characters except line feeds and tabs, the line and
 * paragraph separators of Unicode, and format characters, such as those that reverse the direction of writing.
 */
// oxlint-disable-next-line no-control-regex -- control characters are the point
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]|\p{Cf}/gu;

/** Replaces unprintable characters by U+FFFD, for texts from strangers such as names, addresses and answers. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, "\uFFFD");
}

/** Replaces unprintable characters by JSON's escapes. */
export function escapeUnprintable(text: string): string {
  return text.replaceAll(UNPRINTABLE, escapeUnits);
}

/** Returns a text as one line: with JSON's escapes for unprintable characters, line ends and tabs. */
export function escapeToOneLine(text: string): string {
  return escapeUnprintable(text.replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r"));
}

/** Returns JSON's escapes of a character. JSON escapes units of UTF-16, and some characters have two units. */
function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** Returns a text, such as a path, quoted as one word for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
