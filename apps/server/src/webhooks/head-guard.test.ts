import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HeadGuard } from "./head-guard.ts";

const limits = { headBytes: 2_000, headLines: 20, informational: 3, chunks: 500 };

/** Gives a text to a guard in pieces and returns the first fault. */
function feed(text: string, pieces: readonly number[] = []): string | undefined {
  const guard = new HeadGuard(limits);
  guard.begin();
  const bytes = Buffer.from(text, "latin1");
  let at = 0;
  for (const length of [...pieces, bytes.length]) {
    const fault = guard.take(bytes.subarray(at, at + length));
    if (fault !== undefined) return fault;
    at += length;
  }
  return undefined;
}

const ok = "HTTP/1.1 200 OK\r\n";
const header = "a:\r\n";
const early = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
const chunked = "Transfer-Encoding: chunked\r\n\r\n";

const cases: Record<string, { readonly text: string; readonly fault: string | undefined }> = {
  "an ordinary answer": { text: `${ok}Content-Length: 2\r\n\r\nok`, fault: undefined },
  "as many lines as are allowed": { text: `${ok}${header.repeat(18)}\r\n`, fault: undefined },
  "one line more": { text: `${ok}${header.repeat(20)}\r\n`, fault: "headers_too_large" },
  "one endless line": { text: `${ok}a: ${"x".repeat(3_000)}`, fault: "headers_too_large" },
  "an endless status line": { text: "H".repeat(3_000), fault: "headers_too_large" },
  "lines in a body": { text: `${ok}\r\n${header.repeat(500)}`, fault: undefined },
  "lines after 1xx heads": { text: `${early}${early}${ok}${header.repeat(20)}`, fault: "headers_too_large" },
  "a few 1xx heads": { text: `${early.repeat(3)}${ok}\r\n`, fault: undefined },
  "a flood of 1xx heads": { text: early.repeat(4), fault: "too_many_informational" },
  "lines behind empty lines and a 1xx head": {
    text: `\r\n\r\n${early}${ok}${header.repeat(20)}`,
    fault: "headers_too_large",
  },
  "empty lines without end": { text: "\r\n".repeat(30), fault: "headers_too_large" },
  "lines in chunks": { text: `${ok}${chunked}7d0\r\n${header.repeat(500)}\r\n0\r\n\r\n`, fault: undefined },
  "many small chunks": { text: `${ok}${chunked}${"1\r\nx\r\n".repeat(500)}0\r\n\r\n`, fault: undefined },
  "too many small chunks": { text: `${ok}${chunked}${"1\r\nx\r\n".repeat(501)}`, fault: "too_many_chunks" },
  "long chunk extensions": { text: `${ok}${chunked}1;${"x".repeat(3_000)}\r\nx\r\n0\r\n\r\n`, fault: undefined },
  "a few trailers": { text: `${ok}${chunked}1\r\nx\r\n0\r\n${header.repeat(3)}\r\n`, fault: undefined },
  "a flood of trailers": { text: `${ok}${chunked}1\r\nx\r\n0\r\n${header.repeat(30)}`, fault: "headers_too_large" },
  "trailers behind a padded coding": {
    text: `${ok}transfer-encoding:${" ".repeat(100)}chunked\r\n\r\n0\r\n${header.repeat(30)}`,
    fault: "headers_too_large",
  },
};

describe("the head guard", () => {
  it.each(Object.entries(cases))("judges %s alike, however it is cut", (_name, { text, fault }) => {
    expect(feed(text)).toBe(fault);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 }), (pieces) => {
        expect(feed(text, pieces)).toBe(fault);
      }),
      { numRuns: 50 },
    );
  });

  it("counts anew for each answer of a connection, and nothing between them", () => {
    const guard = new HeadGuard(limits);
    for (let answer = 0; answer < 5; answer++) {
      guard.begin();
      expect(guard.take(Buffer.from(`${ok}${header.repeat(15)}\r\nbody`))).toBeUndefined();
      expect(guard.take(Buffer.from(header.repeat(100)))).toBeUndefined();
    }
  });
});
