import { compareIds } from "@bikeshare/rules";

/*
 * A list's rows in memory (`SortedRows`): sorted by time and id, packed into one array for each column.
 * row-memory.ts writes and removes rows as they change, and selects a page of them. Filters select rows by sieves: functions
 * that keep only the rows that pass.
 */

/** The content of a column: texts that are compared for equality, or numbers (instants as milliseconds since 1970). */
export type ColumnKind = "text" | "number";

/**
 * The position of a row: a time, and the id among the rows of one time. Rows that are ordered by id alone have the time 0.
 */
export interface RowKey {
  readonly time: number;
  readonly id: string;
}

/** Rows as they are read: an array for each column. */
export interface ReadRows {
  readonly ids: readonly string[];
  readonly times: readonly number[];
  readonly columns: Readonly<Record<string, readonly (string | number | null)[]>>;
}

/**
 * Tests the first `n` rows of `found`. @param found indexes of rows; the indexes of rows that pass are moved to the front
 * @returns how many passed
 */
export type Sieve = (found: Uint32Array, n: number) => number;

/** Which rows to select. */
export interface Selection {
  readonly sieves: readonly Sieve[];
  readonly direction: "asc" | "desc";
  /** Selects rows behind this one; then nothing is counted. */
  readonly after?: RowKey | undefined;
  /** How many rows that pass to skip. */
  readonly skip: number;
  readonly limit: number;
}

type Numbers = Float64Array<ArrayBuffer>;
/** A text column: a number (code) for each row's text, in the narrowest array type that holds the column's highest code. */
export type Codes = Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

/** Rows that pass through the sieves at once: few enough for the processor's nearest cache. */
const BLOCK_ROWS = 4096;
/** The factor by which a full array grows. Too low: copies the arrays often. Too high: wastes memory. */
const GROWTH = 1.05;
/** The code of a text column's null. */
const NO_TEXT = 0;

/** The memory that a text with its code takes, in addition to its characters. */
const BYTES_OF_TEXT = 64;

/**
 * Rows in their list's order, with only the columns that filters compare: some 60 bytes each. Two filters take some
 * milliseconds for a million rows.
 */
export class SortedRows {
  /** The number of rows. The arrays are longer. */
  size = 0;
  readonly #ids = new PackedIds();
  #times = new Float64Array(0);
  readonly #numbers = new Map<string, Numbers>();
  readonly #texts = new Map<string, Codes>();
  #bytesOfTexts = 0;
  /** The numbers that stand for the texts of each column. */
  readonly #codes = new Map<string, Map<string, number>>();

  constructor(kinds: Readonly<Record<string, ColumnKind>>) {
    for (const [name, kind] of Object.entries(kinds)) {
      if (kind === "number") this.#numbers.set(name, new Float64Array(0));
      else {
        this.#texts.set(name, new Uint8Array(0));
        this.#codes.set(name, new Map());
      }
    }
  }

  /** The memory in use, approximately. */
  get bytes(): number {
    const widths = this.#texts.values().reduce((sum, column) => sum + column.BYTES_PER_ELEMENT, 0);
    const each = 8 + this.#ids.width + 8 * this.#numbers.size + widths;
    return this.#times.length * each + this.#bytesOfTexts;
  }

  /** A column of numbers; NaN, which passes no comparison, where a row has no value. Writing rows may replace the array. */
  numbers(name: string): Float64Array {
    return columnOf(this.#numbers, name);
  }

  /** A column of texts, as the numbers that stand for them. */
  texts(name: string): Codes {
    return columnOf(this.#texts, name);
  }

  /** Returns the code of a text in a column; -1: no row has had the text. */
  code(name: string, text: string): number {
    return columnOf(this.#codes, name).get(text) ?? -1;
  }

  /** Adds rows, or replaces those of the same key. */
  write(read: ReadRows): void {
    const added: number[] = [];
    read.ids.forEach((_, index) => {
      const key = keyOf(read, index);
      const at = this.#indexOf(key);
      if (this.#isAt(at, key)) this.#set(at, read, index);
      else added.push(index);
    });
    added.sort((a, b) => compareKeys(keyOf(read, a), keyOf(read, b)));
    this.#reserve(this.size + added.length);
    let end = this.size;
    // Begins with the last added row, so that each existing row moves once.
    for (let left = added.length - 1; left >= 0; left--) {
      const index = added[left] ?? 0;
      const at = this.#indexOf(keyOf(read, index), end);
      // `left` more added rows come before this one, so the existing rows behind it move by `left + 1`.
      this.#move(at, end, at + left + 1);
      this.#set(at + left, read, index);
      end = at;
    }
    this.size += added.length;
  }

  /** Removes rows of a list that is ordered by id alone (time 0). Ignores ids without a row. */
  remove(ids: readonly string[]): void {
    const indexes = new Set<number>();
    for (const id of ids) {
      const at = this.#indexOf({ time: 0, id });
      if (this.#isAt(at, { time: 0, id })) indexes.add(at);
    }
    const sorted = [...indexes].sort((a, b) => a - b);
    sorted.forEach((at, before) => {
      // `before` removed rows come before this one, so the rows up to the next removed one move by `before + 1`.
      this.#move(at + 1, sorted[before + 1] ?? this.size, at - before);
    });
    this.size -= sorted.length;
  }

  /** Returns the ids of a page's rows, in the list's order, and how many rows pass in all (undefined with `after`). */
  select(selection: Selection): { readonly ids: string[]; readonly total: number | undefined } {
    const { sieves, direction, after, limit, skip } = selection;
    const [from, to] = this.#range(direction, after);
    const isCounted = after === undefined;
    const ids: string[] = [];
    if (sieves.length === 0) {
      const last = Math.min(to - from, skip + limit);
      for (let n = skip; n < last; n++) ids.push(this.#ids.at(direction === "asc" ? from + n : to - 1 - n));
      return { ids, total: isCounted ? this.size : undefined };
    }
    const found = new Uint32Array(Math.min(BLOCK_ROWS, to - from));
    let passed = 0;
    for (let done = 0; done < to - from; done += BLOCK_ROWS) {
      // `found` gets the indexes of the next block's rows in the list's order, and each sieve leaves those that pass.
      let n = Math.min(BLOCK_ROWS, to - from - done);
      if (direction === "asc") for (let i = 0; i < n; i++) found[i] = from + done + i;
      else for (let i = 0; i < n; i++) found[i] = to - 1 - done - i;
      for (const sieve of sieves) n = sieve(found, n);
      // `passed` counts the rows of earlier blocks that passed the sieves, so `skip - passed` rows of this block are still
      // to be skipped.
      for (let i = Math.max(0, skip - passed); i < n && ids.length < limit; i++) ids.push(this.#ids.at(found[i] ?? 0));
      passed += n;
      if (!isCounted && ids.length === limit) break;
    }
    return { ids, total: isCounted ? passed : undefined };
  }

  /** Returns the indexes of the rows to select from: from the first one up to, not including, the second one. */
  #range(direction: "asc" | "desc", after: RowKey | undefined): readonly [number, number] {
    if (after === undefined) return [0, this.size];
    const at = this.#indexOf(after);
    // In descending order, the rows behind this one come before it in the arrays.
    if (direction === "desc") return [0, at];
    return [this.#isAt(at, after) ? at + 1 : at, this.size];
  }

  /** Returns the index of the first row that is not before a key: that of the key's row, or where it would be inserted. */
  #indexOf(key: RowKey, end = this.size): number {
    let low = 0;
    let high = end;
    // Most added rows belong at the end.
    if (high > 0 && this.#compare(high - 1, key) < 0) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(middle, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #compare(at: number, { time, id }: RowKey): number {
    return (this.#times[at] ?? 0) - time || compareIds(this.#ids.at(at), id);
  }

  #isAt(at: number, key: RowKey): boolean {
    return at < this.size && this.#compare(at, key) === 0;
  }

  /** Writes the row `index` of the given rows to the index `at` of the arrays. */
  #set(at: number, { ids, times, columns }: ReadRows, index: number): void {
    this.#ids.set(at, ids[index] ?? "");
    this.#times[at] = times[index] ?? 0;
    for (const [name, column] of this.#numbers) column[at] = Number(columns[name]?.[index] ?? Number.NaN);
    for (const name of this.#texts.keys()) {
      const code = this.#codeFor(name, columns[name]?.[index]);
      // `#codeFor` may have replaced the column's array.
      this.texts(name)[at] = code;
    }
  }

  /** Returns the number that stands for a text in a column, and gives a new text the next number. */
  #codeFor(name: string, value: string | number | null | undefined): number {
    if (value === null || value === undefined) return NO_TEXT;
    const codes = columnOf(this.#codes, name);
    const text = String(value);
    const known = codes.get(text);
    if (known !== undefined) return known;
    // Codes begin at 1, because 0 is `NO_TEXT`. The highest code is therefore the number of texts, and decides the array's
    // type.
    codes.set(text, codes.size + 1);
    this.#bytesOfTexts += BYTES_OF_TEXT + text.length;
    if (codes.size === 2 ** 8) this.#texts.set(name, new Uint16Array(this.texts(name)));
    if (codes.size === 2 ** 16) this.#texts.set(name, new Uint32Array(this.texts(name)));
    return codes.size;
  }

  /** Moves the rows from the index `from` up to, not including, `end` to the index `to`. */
  #move(from: number, end: number, to: number): void {
    if (from === end || from === to) return;
    this.#ids.move(from, end, to);
    for (const column of [this.#times, ...this.#numbers.values(), ...this.#texts.values()])
      column.copyWithin(to, from, end);
  }

  /** Makes room for so many rows. */
  #reserve(rows: number): void {
    const capacity = this.#times.length;
    if (rows <= capacity) return;
    const enough = Math.ceil(Math.max(rows, capacity * GROWTH));
    this.#ids.resize(enough);
    // `transfer` frees the old memory at once, not at the next garbage collection.
    const resized = (column: Numbers | Codes) => column.buffer.transfer(enough * column.BYTES_PER_ELEMENT);
    this.#times = new Float64Array(resized(this.#times));
    for (const [name, column] of this.#numbers) this.#numbers.set(name, new Float64Array(resized(column)));
    for (const [name, column] of this.#texts) {
      const buffer = resized(column);
      if (column instanceof Uint8Array) this.#texts.set(name, new Uint8Array(buffer));
      else this.#texts.set(name, column instanceof Uint16Array ? new Uint16Array(buffer) : new Uint32Array(buffer));
    }
  }
}

/** Returns the column of a name, which must be one of those that the rows were created with. */
function columnOf<Column>(columns: ReadonlyMap<string, Column>, name: string): Column {
  const column = columns.get(name);
  if (column === undefined) throw new Error(`rows have no column ${name}`);
  return column;
}

function keyOf({ ids, times }: ReadRows, index: number): RowKey {
  return { id: ids[index] ?? "", time: times[index] ?? 0 };
}

function compareKeys(one: RowKey, other: RowKey): number {
  return one.time - other.time || compareIds(one.id, other.id);
}

/**
 * Keeps ids outside the JavaScript heap, where each would take twice the memory. All ids take as many bytes as the longest
 * one in UTF-8. Zero bytes follow a shorter id, because no text in PostgreSQL contains them.
 */
class PackedIds {
  #bytes = new Uint8Array(0);
  #view = Buffer.alloc(0);
  #width = 0;
  #capacity = 0;

  /** Bytes that each id takes. */
  get width(): number {
    return this.#width;
  }

  at(index: number): string {
    const from = index * this.#width;
    const end = from + this.#width;
    // Most ids have the full length, so that no zero byte must be searched for.
    const length = this.#bytes[end - 1] === 0 ? this.#bytes.subarray(from, end).indexOf(0) : this.#width;
    return this.#view.toString("utf8", from, from + length);
  }

  set(index: number, id: string): void {
    const length = Buffer.byteLength(id);
    if (length > this.#width) this.#widen(length);
    const from = index * this.#width;
    this.#view.write(id, from, "utf8");
    this.#bytes.fill(0, from + length, from + this.#width);
  }

  /** Moves the ids from the index `from` up to, not including, `end` to the index `to`. */
  move(from: number, end: number, to: number): void {
    this.#bytes.copyWithin(to * this.#width, from * this.#width, end * this.#width);
  }

  /** Makes room for `capacity` ids. */
  resize(capacity: number): void {
    this.#capacity = capacity;
    this.#use(new Uint8Array(this.#bytes.buffer.transfer(capacity * this.#width)));
  }

  #widen(width: number): void {
    const wider = new Uint8Array(this.#capacity * width);
    for (let index = 0; index < this.#capacity; index++)
      wider.set(this.#bytes.subarray(index * this.#width, (index + 1) * this.#width), index * width);
    this.#use(wider);
    this.#width = width;
  }

  #use(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = Buffer.from(bytes.buffer);
  }
}
