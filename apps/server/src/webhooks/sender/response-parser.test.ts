import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidResponseError, ResponseParser } from "./response-parser.ts";

const limits = {
  maxHeaderBytes: 2_000,
  maxHeaderLines: 20,
  maxInformational: 3,
  maxBodyBytes: 10_000,
  maxBodyPieces: 10_000,
};

/** The result of parsing a response. */
interface Parsed {
  readonly violation: string | undefined;
  readonly isEnough: boolean;
  readonly status: number | null;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  readonly isReusable: boolean;
}

/** Passes a text to a parser in pieces. */
function parse(text: string, pieces: readonly number[] = []): Parsed {
  const parser = new ResponseParser(limits);
  const bytes = Buffer.from(text, "latin1");
  let violation: string | undefined;
  let isEnough = false;
  let at = 0;
  try {
    for (const length of [...pieces, bytes.length]) {
      isEnough = parser.read(bytes.subarray(at, at + length));
      at += length;
    }
  } catch (error) {
    if (!(error instanceof InvalidResponseError)) throw error;
    violation = error.violation;
  }
  const { status, headers, isReusable } = parser;
  return {
    violation,
    isEnough,
    status,
    headers,
    body: Buffer.from(parser.body.bytes()).toString("latin1"),
    isReusable,
  };
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
    violation: "headers_too_large",
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

describe("a response parser", () => {
  it.each(Object.entries(noAnswers))("takes %s for no answer", (_name, text) => {
    expect(parse(text).violation).toBe("not_http");
  });

  it.each([
    ["a last chunk", `${ok}${chunked}1\r\nx\r\n0\r\n`, true],
    ["a trailer that goes on", `${ok}${chunked}0\r\na: b`, true],
    ["a trailer with its end", `${ok}${chunked}0\r\na: b\r\n\r\n`, true],
    ["a chunk", `${ok}${chunked}1\r\nx\r\n`, false],
    ["what looks like a last chunk in a body", `${ok}\r\n0\r\n`, false],
  ])("knows behind %s whether anything but trailers is missing", (_name, text, isEnough) => {
    expect(parse(text).isEnough).toBe(isEnough);
    expect(parse(text).isReusable).toBe(text.endsWith("\r\n\r\n"));
  });

  it.each(Object.entries(cases))("judges %s alike, however it is cut", (_name, { text, violation }) => {
    expect(parse(text).violation).toBe(violation);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 }), (pieces) => {
        const cut = parse(text, pieces);
        expect(cut.violation).toBe(violation);
        if (violation === undefined) expect(cut).toMatchObject({ status: 200, body: parse(text).body });
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ["a header", "a:"],
    ["a length", "Content-Length: 1"],
    ["a header that goes on", "a: b\r\n "],
    ["a keep-alive", "Keep-Alive: timeout="],
  ])("refuses spaces without end in %s in time that grows with their number alone", (_name, start) => {
    const parser = new ResponseParser({ ...limits, maxHeaderBytes: 200_000 });
    const before = process.cpuUsage();
    expect(() => parser.read(Buffer.from(`${ok}${start}${" ".repeat(100_000)}\u0001\r\n`))).toThrow(
      InvalidResponseError,
    );
    const { user } = process.cpuUsage(before);
    // A parser whose time grows with the square of the length takes 40 s.
    expect(user / 1000).toBeLessThan(1_000);
  });

  it("skips informational responses, however they are cut", () => {
    const text = `${early}\r\n${early}${ok}X-One:  a\r\nContent-Length: 4\r\n\r\nbody`;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 }), (pieces) => {
        const { status, headers, body, isReusable } = parse(text, pieces);
        expect({ status, headers, body, isReusable }).toEqual({
          status: 200,
          headers: [
            ["X-One", "a"],
            ["Content-Length", "4"],
          ],
          body: "body",
          isReusable: true,
        });
      }),
    );
    expect(parse(early)).toMatchObject({ status: null, headers: [], isEnough: false });
  });

  it.each([
    ["a value that goes on in the next line", `${ok}X: a\r\n  b\r\n\r\n`, [["X", "a b"]], undefined],
    ["a length that goes on in the next line", `${ok}Content-Length: 1\r\n 2\r\n\r\n`, [], "not_http"],
    ["a coding that goes on in the next line", `${ok}Transfer-Encoding: chunked\r\n , x\r\n\r\n`, [], "not_http"],
    ["a next line without one before", `${ok} b\r\n\r\n`, [], "not_http"],
    ["a control character in a next line", `${ok}X: a\r\n \0\r\n\r\n`, [], "not_http"],
  ])("reads %s", (_name, text, headers, violation) => {
    expect(parse(text)).toMatchObject({ headers, violation });
  });

  it.each([
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"],
    ["Connection: close", `${ok}Connection: close\r\nContent-Length: 0\r\n\r\n`],
    ["bytes behind the body", `${ok}Content-Length: 1\r\n\r\nxy`],
    ["a length of what cannot have a body", "HTTP/1.1 204 No\r\nContent-Length: 1\r\n\r\n"],
    ["chunks of what cannot have a body", `HTTP/1.1 204 No\r\n${chunked}`],
    ["a space behind the length", `${ok}Content-Length: 0 \r\n\r\n`],
  ])("ends with %s, and the connection is not to be used again", (_name, text) => {
    expect(parse(text)).toMatchObject({ isEnough: true, isReusable: false, violation: undefined });
  });
});
