import type { ColumnType, WrittenRow } from "../../storage/db/columns.ts";
import { columnTypes, type Tables } from "../../storage/db/tables.generated.ts";

/*
 * Parameters in PostgreSQL's binary format: neither side has to quote, escape and parse them.
 */

/** Encodes a PostgreSQL type: arrays of it as parameters, and single values for `copy`. */
export interface BinaryType<Value> extends ColumnType<Value | null> {
  encode(values: readonly (Value | null)[]): Buffer;
  sizeOf(value: Value): number;
  write(into: Buffer, value: Value, at: number): void;
}

const INT16_BYTES = 2;
const INT32_BYTES = 4;
const NULL_SIZE = -1;
/** Milliseconds from 1970 to 2000: PostgreSQL counts dates from 2000. */
const EPOCH_MS = 946_684_800_000;
const DAY_MS = 86_400_000;

/**
 * Five integers: the number of dimensions, whether nulls occur, the type of the elements, the array's length and its first
 * index.
 */
const ARRAY_HEAD_BYTES = 5 * INT32_BYTES;

/** @param oid PostgreSQL's number of the type @param sizeOf the bytes of a value @param write writes a value at `at` */
function binaryType<Value>(
  type: string,
  oid: number,
  sizeOf: (value: Value) => number,
  write: (into: Buffer, value: Value, at: number) => void,
): BinaryType<Value> {
  return {
    type,
    sizeOf,
    write,
    encode(values) {
      const sizes = values.map((value) => (value === null ? NULL_SIZE : sizeOf(value)));
      const bytes = sizes.reduce((sum, size) => sum + INT32_BYTES + Math.max(0, size), ARRAY_HEAD_BYTES);
      const array = Buffer.allocUnsafe(bytes);
      // The head: see ARRAY_HEAD_BYTES.
      let at = array.writeInt32BE(1);
      at = array.writeInt32BE(sizes.includes(NULL_SIZE) ? 1 : 0, at);
      at = array.writeInt32BE(oid, at);
      at = array.writeInt32BE(values.length, at);
      at = array.writeInt32BE(1, at);
      values.forEach((value, index) => {
        const size = sizes[index] ?? NULL_SIZE;
        at = array.writeInt32BE(size, at);
        if (value === null) return;
        write(array, value, at);
        at += size;
      });
      return array;
    },
  };
}

const always = (bytes: number) => () => bytes;

export const texts = binaryType<string>(
  "text",
  25,
  (value) => Buffer.byteLength(value),
  (into, value, at) => into.write(value, at),
);
export const byteas = binaryType<Uint8Array>(
  "bytea",
  17,
  ({ length }) => length,
  (into, value, at) => into.set(value, at),
);
export const booleans = binaryType<boolean>("boolean", 16, always(1), (into, value, at) =>
  into.writeInt8(value ? 1 : 0, at),
);
export const smallints = binaryType<number>("smallint", 21, always(INT16_BYTES), (into, value, at) =>
  into.writeInt16BE(value, at),
);
export const integers = binaryType<number>("integer", 23, always(INT32_BYTES), (into, value, at) =>
  into.writeInt32BE(value, at),
);
export const bigints = binaryType<number>("bigint", 20, always(8), writeInt64);
export const reals = binaryType<number>("real", 700, always(4), (into, value, at) => into.writeFloatBE(value, at));
/** Days as `2026-01-31`. */
export const dates = binaryType<string>("date", 1082, always(INT32_BYTES), (into, value, at) =>
  into.writeInt32BE((Date.parse(value) - EPOCH_MS) / DAY_MS, at),
);
/** Instants to the millisecond, up to the year 2284: microseconds after that do not fit a double. */
export const timestamps = binaryType<Date>("timestamptz", 1184, always(8), (into, value, at) =>
  writeInt64(into, (value.getTime() - EPOCH_MS) * 1000, at),
);

/** Writes any whole number that a double can hold. `>>> 0` gives its lower 32 bits, of a negative number too. */
function writeInt64(into: Buffer, value: number, at: number): void {
  into.writeInt32BE(Math.floor(value / 2 ** 32), at);
  into.writeUInt32BE(value >>> 0, at + INT32_BYTES);
}

const allTypes: readonly BinaryType<unknown>[] = [
  texts,
  byteas,
  booleans,
  smallints,
  integers,
  bigints,
  reals,
  dates,
  timestamps,
];
const types = new Map(allTypes.map((each) => [each.type, each]));

const COPY_SIGNATURE = Buffer.from("PGCOPY\n\u00ff\r\n\0", "latin1");
const COPY_HEAD_BYTES = COPY_SIGNATURE.length + 2 * INT32_BYTES;

/**
 * Returns a function that encodes rows of a table for `copy … from stdin (format binary)`. The rows have all of the table's
 * columns, in the order of `columnsOfTable`.
 */
export function rowEncoder<Table extends keyof Tables>(table: Table): (rows: readonly WrittenRow<Table>[]) => Buffer {
  const fields = Object.entries(columnTypes[table]).map(([name, type]) => {
    const binary = types.get(type);
    if (binary === undefined) throw new Error(`no binary format for ${type}`);
    // The values of a column have the type that the migrations give it.
    return { name: name as keyof WrittenRow<Table>, type: binary };
  });
  return (rows) => {
    // Looks each value up once, because a look-up by a computed property name costs as much as writing the value.
    const values: unknown[] = [];
    const sizes: number[] = [];
    let bytes = COPY_HEAD_BYTES + INT16_BYTES + rows.length * (INT16_BYTES + fields.length * INT32_BYTES);
    for (const row of rows) {
      for (const { name, type } of fields) {
        const value = row[name];
        const size = value === null ? NULL_SIZE : type.sizeOf(value);
        values.push(value);
        sizes.push(size);
        if (size !== NULL_SIZE) bytes += size;
      }
    }
    const copy = Buffer.allocUnsafe(bytes);
    let at = COPY_SIGNATURE.copy(copy);
    // No flags, and no extension of the head.
    at = copy.writeInt32BE(0, at);
    at = copy.writeInt32BE(0, at);
    // A row is the number of its fields, then the size and the bytes of each.
    for (let first = 0; first < values.length; first += fields.length) {
      at = copy.writeInt16BE(fields.length, at);
      for (const [column, { type }] of fields.entries()) {
        const size = sizes[first + column] ?? NULL_SIZE;
        at = copy.writeInt32BE(size, at);
        if (size === NULL_SIZE) continue;
        type.write(copy, values[first + column], at);
        at += size;
      }
    }
    // A row of -1 fields ends the data.
    copy.writeInt16BE(-1, at);
    return copy;
  };
}
