/** One SQL statement of ours: whole, and named so that each connection prepares it once. */
export interface Statement {
  /** Unique in the program: `<noun>.<what>`. PostgreSQL keeps 63 characters of it. */
  readonly name: string;
  readonly text: string;
}

/** Names a SQL statement. The values go in as `$1`, `$2`, … and are never put into the text. */
export function statement(name: string, text: string): Statement {
  return { name, text };
}
