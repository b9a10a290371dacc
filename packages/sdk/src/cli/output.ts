import type { Environment } from "./environment.ts";

/** The output of a command. With `--json`, results are JSON objects on stdout, one a line, and all else is on stderr. */
export type Output = ReturnType<typeof createOutput>;

export function createOutput(json: boolean, { stdout, stderr }: Pick<Environment, "stdout" | "stderr">) {
  const isTerminal = stderr.isTTY === true;
  /** Replaces the progress line on stderr; an empty text clears it. Does nothing unless stderr is a terminal. */
  const progress = (text: string) => void (isTerminal && stderr.write(`\r\u001b[2K${text}`));
  return {
    /** Prints a result on stdout: with `--json` the `object`, otherwise the `text`. */
    result(object: object, text: string) {
      progress("");
      stdout.write(json ? `${JSON.stringify(object)}\n` : `${text}\n`);
    },
    /** Prints a message for the user on stderr. */
    note(text: string) {
      progress("");
      stderr.write(`${text}\n`);
    },
    progress,
  };
}

/**
 * Returns a value as one line for a terminal. It replaces control characters, because strangers write texts such as the
 * responses of receivers, and control characters could take over the terminal.
 */
export function printable(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? "");
  return (value === null || value === undefined ? "" : text).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\u{fffd}");
}

/** Formats objects as the rows of a table. The header shows the names of the fields in JSON. */
export function formatTable(fields: readonly string[], objects: readonly object[]): string {
  const rows = [fields, ...objects.map((object) => fields.map((field) => printable(valueAt(object, field))))];
  const widths = fields.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => formatRow(row, widths)).join("\n");
}

/** Formats an object with a line for each field. */
export function formatObject(object: object): string {
  const entries = Object.entries(object);
  const width = Math.max(...entries.map(([field]) => field.length));
  return entries.map(([field, value]) => formatRow([field, printable(value)], [width])).join("\n");
}

function formatRow(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join("  ")
    .trimEnd();
}

/** Returns the value at a path such as `data.id`. */
function valueAt(object: object, path: string): unknown {
  return path.split(".").reduce<unknown>((value, field) => {
    return typeof value === "object" && value !== null ? Reflect.get(value, field) : undefined;
  }, object);
}
