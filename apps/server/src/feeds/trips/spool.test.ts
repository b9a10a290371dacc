import { expect, it } from "vitest";
import { isDiskFull } from "../../storage/db/errors.ts";
import { writeAt } from "./spool.ts";

/** Returns a file on a disk with `room` free bytes. A write takes at most three bytes, and fails when the disk is full. */
function fileWithRoom(room: number) {
  const content = Buffer.alloc(room);
  const write = (bytes: Uint8Array, offset: number, length: number, position: number) => {
    const bytesWritten = Buffer.from(bytes).copy(content, position, offset, offset + Math.min(length, 3));
    if (bytesWritten === 0)
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    return Promise.resolve({ bytesWritten, buffer: bytes });
  };
  return { content, file: { write } as unknown as Parameters<typeof writeAt>[0] };
}

it("a write of which the disk takes a part at a time is completed", async () => {
  const { content, file } = fileWithRoom(10);
  await writeAt(file, 2, Buffer.from("12345678"));
  expect(content.toString("latin1")).toBe("\0\u000012345678");
});

it("a disk that fills up during a write is reported as full", async () => {
  const { file } = fileWithRoom(10);
  const failure = await writeAt(file, 0, Buffer.from("123456789012")).catch((error: unknown) => error);
  expect(isDiskFull(failure)).toBe(true);
});
