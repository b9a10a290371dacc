import { shown } from "./output.ts";

/** Lays objects out in columns for a terminal, under the names that their fields have on the wire. */
export function table(fields: readonly string[], objects: readonly object[]): string {
  const rows = [fields, ...objects.map((object) => fields.map((field) => shown(fieldOf(object, field))))];
  const widths = fields.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => line(row, widths)).join("\n");
}

/** One object for a terminal: a line for each of its fields. */
export function card(object: object): string {
  const entries = Object.entries(object);
  const width = Math.max(...entries.map(([field]) => field.length));
  return entries.map(([field, value]) => line([field, shown(value)], [width])).join("\n");
}

function line(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join("  ")
    .trimEnd();
}

/** What stands at a path such as `data.id`. */
function fieldOf(object: object, path: string): unknown {
  return path.split(".").reduce<unknown>((value, field) => {
    return typeof value === "object" && value !== null ? Reflect.get(value, field) : undefined;
  }, object);
}
