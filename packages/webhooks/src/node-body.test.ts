import { PassThrough } from "node:stream";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { readNodeBody } from "./node-body.ts";

const read = (request: object, stream?: PassThrough) => readNodeBody(request, stream, 1_000, "advice");

it("a stream that was destroyed before it was read is reported, and keeps nobody waiting", async () => {
  const stream = new PassThrough();
  stream.destroy();
  await expect(read({}, stream)).rejects.toThrow("the request ended before its body did");
});

it("bytes of another realm, such as a test runner's, are bytes, kept or from a stream", async () => {
  const bytes = runInNewContext("new Uint8Array([123, 125])") as Uint8Array;
  expect(bytes).not.toBeInstanceOf(Uint8Array);
  expect(await read({ rawBody: bytes })).toBe(bytes);
  const stream = new PassThrough({ objectMode: true });
  stream.end(bytes);
  expect(Buffer.from((await read({}, stream)) as Uint8Array).toString()).toBe("{}");
});
