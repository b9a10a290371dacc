import type { ColumnType } from "../../db/columns.ts";

/** Elements of one type in binary form. */
interface Element<Value> {
  readonly oid: number;
  readonly size: (value: Value) => number;
  readonly write: (into: Buffer, value: Value, at: number) => void;
}

interface BinaryArray<Value> extends ColumnType<Value> {
  encode(values: readonly Value[]): Buffer;
}

const INT32 = 4;
/** Dimensions, whether nulls may occur, the elements' type; then, of the one dimension, its length and its first index. */
const HEAD = 5 * INT32;
const NULL_SIZE = -1;
/** From 1970 to 2000, which PostgreSQL counts from. */
const EPOCH_MS = 946_684_800_000;
const DAY_MS = 86_400_000;

/** An array in PostgreSQL's binary format: a parameter that neither side has to quote, escape and parse. */
function arrayOf<Value>(type: string, { oid, size, write }: Element<Value>): BinaryArray<Value | null> {
  return {
    type,
    encode(values) {
      const sizes = values.map((value) => (value === null ? NULL_SIZE : size(value)));
      const array = Buffer.allocUnsafe(sizes.reduce((sum, bytes) => sum + INT32 + Math.max(0, bytes), HEAD));
      let at = array.writeInt32BE(1);
      at = array.writeInt32BE(sizes.includes(NULL_SIZE) ? 1 : 0, at);
      at = array.writeInt32BE(oid, at);
      at = array.writeInt32BE(values.length, at);
      at = array.writeInt32BE(1, at);
      for (const [index, value] of values.entries()) {
        const bytes = sizes[index] ?? NULL_SIZE;
        at = array.writeInt32BE(bytes, at);
        if (value === null) continue;
        write(array, value, at);
        at += bytes;
      }
      return array;
    },
  };
}

export const texts = arrayOf<string>("text", {
  oid: 25,
  size: (value) => Buffer.byteLength(value),
  write: (into, value, at) => into.write(value, at),
});

export const byteas = arrayOf<Uint8Array>("bytea", {
  oid: 17,
  size: (value) => value.length,
  write: (into, value, at) => into.set(value, at),
});

export const booleans = arrayOf<boolean>("boolean", {
  oid: 16,
  size: () => 1,
  write: (into, value, at) => into.writeInt8(value ? 1 : 0, at),
});

export const smallints = arrayOf<number>("smallint", {
  oid: 21,
  size: () => 2,
  write: (into, value, at) => into.writeInt16BE(value, at),
});

export const integers = arrayOf<number>("integer", {
  oid: 23,
  size: () => INT32,
  write: (into, value, at) => into.writeInt32BE(value, at),
});

export const bigints = arrayOf<number>("bigint", { oid: 20, size: () => 8, write: writeInt64 });

export const reals = arrayOf<number>("real", {
  oid: 700,
  size: () => 4,
  write: (into, value, at) => into.writeFloatBE(value, at),
});

/** Days as `2026-01-31`. */
export const dates = arrayOf<string>("date", {
  oid: 1082,
  size: () => INT32,
  write: (into, value, at) => into.writeInt32BE((Date.parse(value) - EPOCH_MS) / DAY_MS, at),
});

/** Instants to the millisecond, up to the year 2284: microseconds after that do not fit a double. */
export const timestamps = arrayOf<Date>("timestamptz", {
  oid: 1184,
  size: () => 8,
  write: (into, value, at) => writeInt64(into, (value.getTime() - EPOCH_MS) * 1000, at),
});

/** Any whole number that a double can hold. */
function writeInt64(into: Buffer, value: number, at: number): void {
  into.writeInt32BE(Math.floor(value / 2 ** 32), at);
  into.writeUInt32BE(value >>> 0, at + INT32);
}
