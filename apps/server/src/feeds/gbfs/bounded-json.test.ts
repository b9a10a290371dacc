import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_DOCUMENT_BYTES, parseBounded } from "./bounded-json.ts";

const parse = (text: string) => parseBounded(Buffer.from(text));

test("whatever JSON there is within the bounds is parsed as JSON.parse does, brackets in texts included", () => {
  const text = fc.constantFrom('"', "\\", "[[[", "{,}", '\\"[', "é", "\u2028", "");
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.dictionary(text, fc.array(text))), (value) => {
      const json = JSON.stringify(value);
      expect(parse(json)).toEqual(JSON.parse(json));
    }),
  );
  expect(parse("\ufeff[1]")).toEqual([1]);
});

test("bytes that are not JSON are refused as such", () => {
  for (const text of ["", "<html>", "{", "[1,", '"\\', "]]]]"]) expect(() => parse(text)).toThrow("it is not JSON");
});

test("nesting is bounded, before it is parsed", () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  expect(parse(nested(64))).toBeDefined();
  expect(() => parse(nested(65))).toThrow("it is nested more than 64 levels deep");
  expect(() => parse("[".repeat(1_000_000))).toThrow("levels deep");
  // Many lists beside each other are not nested deeply.
  expect(parse(`[${Array(1_000).fill("[[]]").join(",")}]`)).toHaveLength(1_000);
});

test("values are bounded, and bytes", () => {
  expect(() => parse(`[${"{},".repeat(500_000)}{}]`)).toThrow("it has more than 1,000,000 values");
  expect(parse(`[${"0,".repeat(900_000)}0]`)).toHaveLength(900_001);
  expect(() => parseBounded(Buffer.alloc(MAX_DOCUMENT_BYTES + 1, " "))).toThrow("it is larger than 16 MiB");
});

test("records are counted before they are parsed, and what is in a record is none", () => {
  const feed = (records: number) =>
    Buffer.from(JSON.stringify({ data: { stations: Array.from({ length: records }, () => ({ a: [{}], b: {} })) } }));
  expect(() => parseBounded(feed(3), 3)).not.toThrow();
  expect(() => parseBounded(feed(4), 3)).toThrow("it has more than 3 records");
  // This is not valid JSON, but it is never parsed.
  expect(() => parseBounded(feed(4).subarray(0, -2), 3)).toThrow("it has more than 3 records");
});
