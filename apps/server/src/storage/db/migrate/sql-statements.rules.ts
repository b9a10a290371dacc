/** One statement of a migration. */
export interface SqlStatement {
  /** The original text, which PostgreSQL receives. In a literal or the body of a function a line end may be significant. */
  readonly source: string;
  /** On one line and without comments, for people. */
  readonly text: string;
  /** Like `text`, in lower case and without the content of string literals and function bodies, for rules. */
  readonly bare: string;
}

/** Comments, string literals and dollar-quoted bodies. */
const OPAQUE = /'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|\/\*[\s\S]*?\*\/|--.*/g;

/** Returns the statements of a SQL text. */
export function splitStatements(sql: string): SqlStatement[] {
  const withoutComments = sql.replaceAll(OPAQUE, (match) => (isComment(match) ? " ".repeat(match.length) : match));
  // The masked text has the same length, so that positions in both are equal.
  const masked = withoutComments.replaceAll(OPAQUE, (match) => `'${" ".repeat(Math.max(match.length - 2, 0))}'`);
  let start = 0;
  return masked
    .split(";")
    .map((part) => {
      const end = start + part.length;
      const [source, text] = [sql.slice(start, end), withoutComments.slice(start, end)];
      start = end + 1;
      return { source, text: onOneLine(text), bare: onOneLine(part).replaceAll("' '", "''").toLowerCase() };
    })
    .filter(({ bare }) => bare !== "");
}

function isComment(text: string): boolean {
  return text.startsWith("--") || text.startsWith("/*");
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
