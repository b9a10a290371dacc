// Conversion of feeds' rows to and from the database. Times are milliseconds since 1970, because tens of thousands of rows
// are compared and nearly all of them discarded.

/** Selects columns of times as milliseconds. */
export function selectMilliseconds(columns: readonly string[]): string {
  return columns.map((name) => `(extract(epoch from ${name}) * 1000)::float8 as ${name}`).join(", ");
}

/** Rows as the JSON that a recordset reads. @param times the columns that are milliseconds */
export function rowsJson(rows: readonly object[], times: readonly string[]): string {
  return JSON.stringify(rows, (name, value: unknown) =>
    typeof value === "number" && times.includes(name) ? new Date(value).toISOString() : value,
  );
}

/** Rows of one statement: all of a hostile feed's at once would be in memory four times, as text and as bytes. */
const CHUNK_ROWS = 2_000;

/** Rows in pieces of a statement each, in their order. */
export function* chunksOf<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let start = 0; start < rows.length; start += CHUNK_ROWS) yield rows.slice(start, start + CHUNK_ROWS);
}
