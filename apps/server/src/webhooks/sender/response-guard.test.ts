import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ResponseGuard } from "./response-guard.ts";

fc.configureGlobal({ seed: 1 });

const limits = { maxHeaderBytes: 2_000, maxHeaderLines: 20, maxInformational: 3 };

/** Gives a text to a guard in pieces and returns the first violation. */
function feed(text: string, pieces: readonly number[] = []): string | undefined {
  const guard = new ResponseGuard(limits);
  guard.begin();
  const bytes = Buffer.from(text, "latin1");
  let at = 0;
  for (const length of [...pieces, bytes.length]) {
    const violation = guard.take(bytes.subarray(at, at + length));
    if (violation !== undefined) return violation;
    at += length;
  }
  return undefined;
}

const ok = "HTTP/1.1 200 OK\r\n";
const header = "a:\r\n";
const early = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
const chunked = "Transfer-Encoding: chunked\r\n\r\n";

const cases: Record<string, { readonly text: string; readonly violation: string | undefined }> = {
  "an ordinary answer": { text: `${ok}Content-Length: 2\r\n\r\nok`, violation: undefined },
  "as many lines as are allowed": { text: `${ok}${header.repeat(18)}\r\n`, violation: undefined },
  "one line more": { text: `${ok}${header.repeat(20)}\r\n`, violation: "headers_too_large" },
  "one endless line": { text: `${ok}a: ${"x".repeat(3_000)}`, violation: "headers_too_large" },
  "an endless status line": { text: `HTTP/1.1 2${"0".repeat(3_000)}`, violation: "headers_too_large" },
  "lines in a body": { text: `${ok}\r\n${header.repeat(500)}`, violation: undefined },
  "lines after 1xx heads": { text: `${early}${early}${ok}${header.repeat(20)}`, violation: "headers_too_large" },
  "a few 1xx heads": { text: `${early.repeat(3)}${ok}\r\n`, violation: undefined },
  "a flood of 1xx heads": { text: early.repeat(4), violation: "too_many_informational" },
  "lines behind empty lines and a 1xx head": {
    text: `\r\n\r\n${early}${ok}${header.repeat(20)}`,
    violation: "headers_too_large",
  },
  "empty lines without end": { text: "\r\n".repeat(30), violation: "headers_too_large" },
  "lines in chunks": { text: `${ok}${chunked}7d0\r\n${header.repeat(500)}\r\n0\r\n\r\n`, violation: undefined },
  "many small chunks": { text: `${ok}${chunked}${"1\r\nx\r\n".repeat(900)}0\r\n\r\n`, violation: undefined },
  "chunks with a few extensions": {
    text: `${ok}${chunked}${`1;${"x".repeat(60)}\r\nx\r\n`.repeat(40)}0\r\n\r\n`,
    violation: undefined,
  },
  "a chunk extension without end": { text: `${ok}${chunked}1;${"x".repeat(3_000)}`, violation: "padded_chunks" },
  "a chunk's size without end": { text: `${ok}${chunked}${"0".repeat(3_000)}`, violation: "padded_chunks" },
  "padding spread over many chunks": {
    text: `${ok}${chunked}${`1;${"x".repeat(60)}\r\nx\r\n`.repeat(60)}`,
    violation: "padded_chunks",
  },
  "a few trailers": { text: `${ok}${chunked}1\r\nx\r\n0\r\n${header.repeat(3)}\r\n`, violation: undefined },
  "a flood of trailers": { text: `${ok}${chunked}1\r\nx\r\n0\r\n${header.repeat(30)}`, violation: "headers_too_large" },
  "trailers behind a padded coding": {
    text: `${ok}transfer-encoding:${" ".repeat(100)}chunked\r\n\r\n0\r\n${header.repeat(30)}`,
    violation: "not_http",
  },
  "a coding that we did not ask for": { text: `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`, violation: "not_http" },
  "chunks said twice": { text: `${ok}Transfer-Encoding: chunked\r\n${chunked}0\r\n\r\n`, violation: undefined },
  "no coding said": { text: `${ok}Transfer-Encoding: identity\r\n\r\n${header.repeat(30)}`, violation: undefined },
  "a line that ends in LF alone": { text: `${ok}X: 1\n\r\n`, violation: "not_http" },
  "an empty line of LF alone": { text: `${ok}X: 1\r\n\n`, violation: "not_http" },
  "a trailer that ends in LF alone": { text: `${ok}${chunked}0\r\nX: 1\n`, violation: "not_http" },
};

const noAnswers: Record<string, string> = {
  "another protocol": "RTSP/1.0 200 OK\r\n\r\n",
  "HTTP/0.9": "HTTP/0.9 200 OK\r\n\r\n",
  "HTTP/2 as text": "HTTP/2.0 200 OK\r\n\r\n",
  "a change of protocol": "HTTP/1.1 101 Switching Protocols\r\n\r\n",
  "a status below 100": "HTTP/1.1 099 OK\r\n\r\n",
  "a greeting": "220 mail.example.com ESMTP\r\n",
  "our own request": "POST /hook HTTP/1.1\r\n\r\n",
  "nonsense behind a 1xx head": `${early}nonsense\r\n`,
  "a line that cannot become a status line any more": "<html",
  "the beginning of another protocol": "HTTP/2",
};

describe("the head guard", () => {
  it.each(Object.entries(noAnswers))("takes %s for no answer", (_name, text) => {
    expect(feed(text)).toBe("not_http");
  });

  it.each([
    ["a last chunk", `${ok}${chunked}1\r\nx\r\n0\r\n`, true],
    ["a trailer that goes on", `${ok}${chunked}0\r\na: b`, true],
    ["a trailer with its end", `${ok}${chunked}0\r\na: b\r\n\r\n`, false],
    ["a chunk", `${ok}${chunked}1\r\nx\r\n`, false],
    ["what looks like a last chunk in a body", `${ok}\r\n0\r\n`, false],
  ])("knows behind %s whether only trailers are missing", (_name, text, isInTrailers) => {
    const guard = new ResponseGuard(limits);
    guard.begin();
    expect(guard.take(Buffer.from(text))).toBeUndefined();
    expect(guard.isInTrailers).toBe(isInTrailers);
  });

  it.each(Object.entries(cases))("judges %s alike, however it is cut", (_name, { text, violation }) => {
    expect(feed(text)).toBe(violation);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 }), (pieces) => {
        expect(feed(text, pieces)).toBe(violation);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ["none", `${ok}\r\n`, 0],
    ["one and an answer", `${early}${ok}\r\nbody`, early.length],
    ["two and the beginning of an answer", `${early}${early}${ok}`, early.length * 2],
    ["one alone", early, early.length],
    ["the beginning of one", early.slice(0, -1), 0],
  ])("knows where informational heads end: %s", (_name, text, end) => {
    const guard = new ResponseGuard(limits);
    guard.begin();
    expect(guard.take(Buffer.from(text))).toBeUndefined();
    expect(guard.informationalEnd).toBe(end);
  });

  it("counts anew for each answer of a connection, and nothing between them", () => {
    const guard = new ResponseGuard(limits);
    for (let answer = 0; answer < 5; answer++) {
      guard.begin();
      expect(guard.take(Buffer.from(`${ok}${header.repeat(15)}\r\nbody`))).toBeUndefined();
      expect(guard.take(Buffer.from(header.repeat(100)))).toBeUndefined();
    }
  });
});
