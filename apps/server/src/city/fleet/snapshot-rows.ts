// Converts feeds' rows to and from the database. Times are numbers (milliseconds since 1970), which cost less than `Date`s
// when tens of thousands of rows are compared and nearly all of them discarded.

/** Returns a select list that reads timestamp columns as milliseconds since 1970. */
export function selectMilliseconds(columns: readonly string[]): string {
  return columns.map((name) => `(extract(epoch from ${name}) * 1000)::float8 as ${name}`).join(", ");
}

/** Returns rows as JSON for `json_to_recordset`. @param times the columns to convert from milliseconds to timestamps */
export function rowsJson(rows: readonly object[], times: readonly string[]): string {
  return JSON.stringify(rows, (name, value: unknown) =>
    typeof value === "number" && times.includes(name) ? new Date(value).toISOString() : value,
  );
}

/** Rows of one statement. Too high: a hostile feed fills memory, which holds the rows four times, as text and bytes. */
const CHUNK_ROWS = 2_000;

/** Splits rows into chunks, one for each statement, in their order. */
export function* chunksOf<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let start = 0; start < rows.length; start += CHUNK_ROWS) yield rows.slice(start, start + CHUNK_ROWS);
}
