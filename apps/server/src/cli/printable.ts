/**
 * What a terminal may act on, or what lets a text look like another: control characters but for line ends and tabs, and
 * characters that only format, such as those that turn the direction of writing.
 */
// oxlint-disable-next-line no-control-regex -- control characters are the point
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]|\p{Cf}/gu;

/** A text with U+FFFD for what is not to be seen: names, addresses and answers come from strangers. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, "\uFFFD");
}

/** JSON of a value, with escapes for the same characters: whoever parses it gets them back. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNPRINTABLE, escapeUnits);
}

/** JSON escapes units of UTF-16, of which some characters have two. */
function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
