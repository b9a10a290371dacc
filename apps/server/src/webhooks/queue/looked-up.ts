/**
 * SQL that is true for the row of `table` that `rows` names: `column`s of the one that equal those of the other.
 *
 * PostgreSQL keeps the plan that a connection made first, most often while the queue was empty, and to an empty table
 * any way seems as good as another: such as beginning with the table, from end to end, instead of with the few rows. With
 * `=` it could. `any(array[…])` means the same, finds its row through an index and in its partition alone, and leaves no
 * other way, as long as nothing else is asked of the table's indexed columns. All columns of all indexes that come into
 * question are to be named, so that it does not matter which of them is taken.
 */
export function isLookedUp(table: string, rows: string, columns: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(columns);
  return pairs.map(([column, of]) => `${table}.${column} = any(array[${rows}.${of}])`).join(" and ");
}

/** The delivery that `rows` names by `system_id`, `created_on`, `endpoint_id` and `delivery_id`. */
export function isDeliveryOf(rows: string): string {
  return isLookedUp("delivery", rows, {
    system_id: "system_id",
    created_on: "created_on",
    endpoint_id: "endpoint_id",
    id: "delivery_id",
  });
}
