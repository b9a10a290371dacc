/**
 * Rows that are read in pages come from the database as one text: each row's kept JSON, with this between.
 * JSON escapes line ends inside strings, so a bare one can only stand between rows.
 */
const ROW_SEPARATOR = ",\n";

/** Sizes that pages are fetched in: few, so that each connection prepares few statements. One more than is shown. */
const FETCH_SIZES = [51, 201] as const;
export type FetchSize = (typeof FETCH_SIZES)[number];

/** The number of rows to fetch so that a page of `limit` can be cut from them and it is known whether more follow. */
export function fetchSize(limit: number): FetchSize {
  return limit < FETCH_SIZES[0] ? FETCH_SIZES[0] : FETCH_SIZES[1];
}

/** What a list's statement gives: rows in their JSON as one text (null: none), and the list's length if asked for. */
export interface ListRows {
  readonly rows: string | null;
  readonly total: number | null;
}

/** SQL that makes one text, `rows`, of the `json` column of a query. */
export function joinRows(query: string): string {
  return `select string_agg(json, E'${ROW_SEPARATOR.replace("\n", "\\n")}') as rows from (${query}) as slice`;
}

/** The first `limit` rows of a text, and the last of them when more follow. */
export function cutRows(text: string | null, limit: number): { items: string; lastOfMore: string | undefined } {
  if (text === null) return { items: "", lastOfMore: undefined };
  let end = -1;
  let start = 0;
  for (let row = 0; row < limit; row++) {
    start = end + 1;
    end = text.indexOf("\n", start);
    if (end === -1) return { items: text, lastOfMore: undefined };
  }
  // `end` is at the separator's line end; its comma stands before it.
  return { items: text.slice(0, end - 1), lastOfMore: text.slice(start, end - 1) };
}
