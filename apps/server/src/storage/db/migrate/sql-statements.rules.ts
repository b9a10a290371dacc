/** One statement of a migration. */
export interface SqlStatement {
  /** As it is written: what PostgreSQL is given. In a literal or the body of a function a line end may decide what it means. */
  readonly source: string;
  /** On one line and without comments: what people read. */
  readonly text: string;
  /** The same in lower case, without what stands in string literals and function bodies: what rules look at. */
  readonly bare: string;
}

/** Comments, string literals and dollar-quoted bodies. */
const OPAQUE = /'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|\/\*[\s\S]*?\*\/|--.*/g;

/** The statements of a SQL text. */
export function splitStatements(sql: string): SqlStatement[] {
  const withoutComments = sql.replaceAll(OPAQUE, (match) => (isComment(match) ? " ".repeat(match.length) : match));
  // Of the same length, so that a position in one is a position in the other.
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
