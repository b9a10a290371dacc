import fc from "fast-check";
import { expect, it } from "vitest";
import { BoundedBody } from "./response-parser.ts";

it("keeps the first bytes exactly, however they arrive, and says whether there were more", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 8 }),
      fc.integer({ min: 0, max: 5_000 }),
      (chunks, limit) => {
        const body = new BoundedBody({ maxBodyBytes: limit, maxBodyPieces: 8 });
        for (const chunk of chunks) body.append(chunk);
        const all = Buffer.concat(chunks);
        expect(Buffer.from(body.bytes()).equals(all.subarray(0, limit))).toBe(true);
        expect(body.isTruncated).toBe(all.length > limit);
      },
    ),
  );
});

it("takes a number of pieces only, whatever their size", () => {
  const body = new BoundedBody({ maxBodyBytes: 1_000, maxBodyPieces: 3 });
  const kept = [1, 2, 3, 4].map((byte) => {
    body.append(new Uint8Array([byte]));
    return [body.bytes().length, body.isTruncated];
  });
  expect(kept).toEqual([
    [1, false],
    [2, false],
    [3, false],
    [3, true],
  ]);
});

it("does not keep the buffers alive that its bytes came in, nor more room than the limit or twice its bytes", () => {
  const network = new Uint8Array(1_000_000);
  for (const piece of [1, 10, 100, 5_000, 70_000]) {
    for (const pieces of [1, 2, 300]) {
      const body = new BoundedBody({ maxBodyBytes: 65_536, maxBodyPieces: 300 });
      for (let index = 0; index < pieces; index++) body.append(network.subarray(0, piece));
      const kept = body.bytes();
      expect(kept.buffer.byteLength).toBeLessThanOrEqual(Math.min(65_536, kept.length * 2));
    }
  }
});
