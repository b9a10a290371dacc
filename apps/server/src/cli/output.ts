import { escapeUnprintable, printable } from "../printable.ts";

/* Prints the results of commands: as text for people, or with `--json` for programs. */

/** The result of a command. `--json` prints `object` alone; people see the other properties. */
export interface Result {
  readonly object: object;
  /** Values by name. Default without facts, table and text: the object's properties. */
  readonly facts?: object | undefined;
  readonly table?: Table | undefined;
  /** Text that is neither facts nor a table: a document, a transcript, or a sentence on the outcome. */
  readonly text?: string | undefined;
  /** Next steps and warnings. */
  readonly notes?: readonly string[] | undefined;
  /** The reason why the command fails after printing its result. */
  readonly failure?: string | undefined;
}

/** The output of a command. With `--json`: each result as a JSON object on stdout, everything else on stderr. */
export interface Output {
  readonly json: boolean;
  /** Prints a result. @throws Error when the result is a failure */
  result(result: Result): void;
  /** Prints a remark on stderr, also with `--json`. */
  note(text: string): void;
  /** Draws a progress line over the previous one if stderr is a terminal. */
  progress(text: string): void;
}

/** Minimum interval between two progress lines. Too low: the line flickers. Too high: the command looks hung. */
export const PROGRESS_INTERVAL_MS = 200;

/** The streams of the process, or those of a test. */
interface Streams {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean };
}

/** Creates the output of a command. @param json whether `--json` is given */
export function createOutput(json: boolean, { stdout, stderr }: Streams): Output {
  const interactive = stderr.isTTY === true;
  /** Removes a progress line: moves the cursor to the line's start, and erases the line. */
  const clear = () => {
    if (interactive) stderr.write("\r\u001b[2K");
  };
  return {
    json,
    result(result) {
      clear();
      stdout.write(`${json ? printableJson(result.object) : printable(textOf(result))}\n`);
      if (result.failure !== undefined) throw new Error(result.failure);
    },
    note(text) {
      clear();
      stderr.write(`${printable(text)}\n`);
    },
    progress(text) {
      clear();
      if (interactive) stderr.write(printable(text));
    },
  };
}

/** Returns the JSON of a value, with escapes for unprintable characters, which a parser restores. */
function printableJson(value: unknown): string {
  return escapeUnprintable(JSON.stringify(value));
}

/** Rows below titles. */
export interface Table {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  /** Shown instead of a table without rows. */
  readonly empty: string;
}

/** The columns of a table: each title with a property or a function of the row. */
export type Columns<Row> = Readonly<Record<string, keyof Row | ((row: Row) => unknown)>>;

/** Returns a table with a line for each row. @param empty the text instead of a table without rows */
export function table<Row>(rows: readonly Row[], columns: Columns<Row>, empty: string): Table {
  const shows = Object.values(columns);
  const cells = rows.map((row) => shows.map((show) => (typeof show === "function" ? show(row) : row[show])));
  return { titles: Object.keys(columns), rows: cells, empty };
}

/** Returns a result for people: its parts, with an empty line between two. */
function textOf({ object, facts, table: rows, text, notes = [] }: Result): string {
  const showsFacts = facts !== undefined || (rows === undefined && text === undefined);
  const parts = [
    showsFacts ? factLines(facts ?? object) : "",
    rows === undefined ? "" : tableLines(rows),
    text ?? "",
    notes.join("\n"),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function factLines(facts: object): string {
  return columnLines(Object.entries(facts).map(([name, value]) => [nameText(name), valueText(value)]));
}

function tableLines({ titles, rows, empty }: Table): string {
  return rows.length === 0 ? empty : columnLines([titles, ...rows.map((cells) => cells.map(valueText))]);
}

function columnLines(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length))) ?? [];
  const joined = (line: readonly string[]) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return lines.map((line) => joined(line).trimEnd()).join("\n");
}

/** Returns a property's name in words. */
function nameText(name: string): string {
  return name.replaceAll("_", " ");
}

/** Returns a value on one line, with control characters replaced: names from outside may contain line ends. */
function valueText(value: unknown): string {
  const text = plainText(value);
  return text === "" ? "-" : text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}

function plainText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return value.toLocaleString("en-US");
  if (typeof value === "object") return Object.entries(value).map(partText).join(", ");
  return JSON.stringify(value);
}

/** Returns a property of a value: "3 created", but "scope rides:read". */
function partText([name, part]: readonly [string, unknown]): string {
  return typeof part === "number" ? `${valueText(part)} ${nameText(name)}` : `${nameText(name)} ${valueText(part)}`;
}
