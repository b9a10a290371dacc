/** Quotes a text for a POSIX shell, which then reads it as one argument. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
