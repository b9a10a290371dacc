/** Returns the row of a statement that always returns exactly one. */
export function oneRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`expected one row, got ${rows.length}`);
  return row;
}

/** Returns the value of a key that a map always has. */
export function valueOf<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key): Value {
  const value = map.get(key);
  if (value === undefined) throw new Error(`expected a value for ${String(key)}`);
  return value;
}

/**
 * Returns SQL for the source and the condition of an `insert … select`: rows from parameters, joined with the row of the
 * system `$1` in `placed_systems`. Insert its `placed.system_id`. Only a distributed database needs the join: without it,
 * the database does not know to which node rows from parameters belong, gathers them on its coordinator, copies them to the
 * system's node, and commits in two phases.
 * @param rows such as `unnest(…) as w (id, …)`
 * @param condition a further condition on a row
 */
export function rowsOfSystem(rows: string, condition?: string): string {
  const other = condition === undefined ? "" : ` and ${condition}`;
  return `placed_systems placed cross join ${rows} where placed.system_id = $1${other}`;
}
