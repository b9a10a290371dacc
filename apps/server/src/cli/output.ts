/** Where a command writes. With `--json`: one JSON object on stdout, everything else on stderr. */
export interface Output {
  readonly json: boolean;
  /** The command's result: `object` as JSON, or `text` for people. */
  result(object: Record<string, unknown>, text: string): void;
  /** A remark for the person who waits; stderr. */
  note(text: string): void;
  /**
   * A progress line for a terminal, drawn over the one before; nothing where stderr is not a terminal.
   * `undefined` clears it.
   */
  progress(text: string | undefined): void;
}

/** Between two progress lines. More often flickers; more rarely looks as if it hung. */
export const PROGRESS_INTERVAL_MS = 200;

interface Streams {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean };
}

export function createOutput(json: boolean, { stdout, stderr }: Streams): Output {
  const interactive = stderr.isTTY === true;
  const clear = () => interactive && stderr.write("\r\u001b[2K");
  return {
    json,
    result(object, text) {
      clear();
      stdout.write(json ? `${printableJson(object)}\n` : `${printable(text)}\n`);
    },
    note(text) {
      clear();
      stderr.write(`${printable(text)}\n`);
    },
    progress(text) {
      clear();
      if (interactive && text !== undefined) stderr.write(text);
    },
  };
}

/**
 * What a terminal may act on, or what lets a text look like another: control characters except line ends and tabs, and
 * characters that only format, such as those that turn the direction of writing.
 */
// oxlint-disable-next-line no-control-regex -- control characters are the point
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]|\p{Cf}/gu;

/** A text with U+FFFD for unprintable characters: names, addresses and answers come from strangers. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, "\uFFFD");
}

/** JSON of a value, with escapes for the same characters: whoever parses it gets them back. */
function printableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNPRINTABLE, escapeUnits);
}

/** JSON escapes units of UTF-16, of which some characters have two. */
function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** What one cell of a table may hold. */
type Cell = string | number | Date | null;

/** The columns of a table: each title with what it shows of a row, a property or a function of it. */
export type Columns<Row> = Readonly<Record<string, PropertyOf<Row> | ((row: Row) => Cell)>>;

type PropertyOf<Row> = { [Name in keyof Row]: Row[Name] extends Cell ? Name : never }[keyof Row];

/** Lays rows out in columns for a terminal. */
export function table<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const titles = Object.keys(columns);
  const shown = rows.map((row) =>
    // A property that is named as a column holds a cell.
    Object.values(columns).map((show) => cellText(typeof show === "function" ? show(row) : (row[show] as Cell))),
  );
  const lines = [titles, ...shown];
  const widths = titles.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  const joined = (line: readonly string[]) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return lines.map((line) => joined(line).trimEnd()).join("\n");
}

/** A value as one cell, without line ends: names come from outside. */
function cellText(value: Cell): string {
  if (value === null) return "-";
  const text = value instanceof Date ? value.toISOString() : String(value);
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}
