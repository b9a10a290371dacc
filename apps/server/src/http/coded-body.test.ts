import { text } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { acceptsCoding, codedBody, inParts } from "./response-body.ts";

test("a body is compressed once, into the same content; the caller's best coding of those kept is taken", async () => {
  const content = "x".repeat(100_000);
  const body = codedBody(content, ["br", "gzip"]);
  const [first, second] = await Promise.all([body.inCoding("gzip"), body.inCoding("gzip, br;q=0")]);
  expect(first.bytes).toBe(second.bytes);
  expect(gunzipSync(first.bytes).toString()).toBe(content);
  const brotli = await body.inCoding("gzip, br");
  expect([brotli.coding, brotliDecompressSync(brotli.bytes).toString()]).toEqual(["br", content]);
  expect((await body.inCoding("zstd")).bytes).toBe(body.bytes);
  expect((await codedBody("{}", ["gzip"]).inCoding("gzip")).coding).toBeUndefined();
});

test.each(["gzip", "br, gzip", "GZIP;q=0.5", "deflate, gzip;q=1.0, *;q=0", "x-gzip"])("%j takes gzip", (accepted) => {
  expect(acceptsCoding(accepted, "gzip")).toBe(true);
});

test.each([undefined, "", "identity", "br", "gzip;q=0", "gzip; q=0.00, br", "gzipped", "*;q=0"])(
  "%j does not ask for gzip",
  (accepted) => {
    expect(acceptsCoding(accepted, "gzip")).toBe(false);
  },
);

test.each([
  ["br", true],
  ["gzip, BR;q=0.2", true],
  ["br;q=0", false],
  ["brotli", false],
])("%j takes br: %s", (accepted, takes) => {
  expect(acceptsCoding(accepted, "br")).toBe(takes);
});

test("a large body is handed over in parts of the kept bytes, without a copy, and nothing more than is taken", async () => {
  const bytes = Buffer.alloc(200_000, "ab");
  const parts = inParts(bytes);
  if (Buffer.isBuffer(parts)) throw new Error("a large body in one part");
  expect(await text(parts)).toBe(bytes.toString());
  const unread = inParts(bytes);
  if (Buffer.isBuffer(unread)) throw new Error("a large body in one part");
  const first = unread.read() as Buffer;
  expect(first.buffer).toBe(bytes.buffer);
  expect(unread.readableLength).toBeLessThanOrEqual(2 * 64 * 1024);
  expect(inParts(bytes.subarray(0, 1000))).toBeInstanceOf(Buffer);
});
