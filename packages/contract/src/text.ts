// Rules for texts that come from outside. The database refuses NUL and lone surrogates; the rest would make two values
// that look alike, or a value that nobody can see or type.

/** Letters, marks, digits, punctuation and signs of any script, with plain spaces between them. May be empty. */
const VISIBLE = /^(?! )[\p{L}\p{M}\p{N}\p{P}\p{S} ]*(?<! )$/u;

/** Any characters but controls, line breaks and lone surrogates; no blanks at the ends. May be empty. */
const ONE_LINE = /^(?!\s)[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*(?<!\s)$/u;

/** Whether a text consists of visible characters, with plain spaces only between them: fit for an identifier. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}

/** Whether a text is one line without control characters and without blanks at its ends: fit for a name. */
export function isOneLine(text: string): boolean {
  return ONE_LINE.test(text);
}

/** Whether an id cannot stand in a path: what every URL library takes for a step in it, escaped or not. */
export function isPathStep(id: string): boolean {
  return id === "." || id === "..";
}
