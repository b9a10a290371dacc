import { type IncomingMessage, request } from "node:http";
import { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidResponseError, ResponseParser } from "./response-parser.ts";

const RUNS = 1_000;

interface Reading {
  readonly status: number | null;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

/** Returns what our parser reads, or undefined when it refuses the response or waits for more of it. */
function readByOurs(text: string): (Reading & { readonly isReusable: boolean }) | undefined {
  const limits = { maxHeaderBytes: 16_384, maxHeaderLines: 200, maxInformational: 20 };
  const parser = new ResponseParser({ ...limits, maxBodyBytes: 65_536, maxBodyPieces: 1_024 });
  try {
    if (!parser.read(Buffer.from(text, "latin1")) && !parser.endsWithConnection) return undefined;
  } catch (error) {
    if (error instanceof InvalidResponseError) return undefined;
    throw error;
  }
  const { status, headers, isReusable } = parser;
  return { status, headers, body: Buffer.from(parser.body.bytes()).toString("latin1"), isReusable };
}

/** Returns what Node's own client reads of a response after which the connection ends, or undefined when it fails. */
function readByNode(text: string): Promise<Reading | undefined> {
  const connection = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => done(),
  });
  return new Promise((resolve) => {
    const call = request({ method: "POST", host: "receiver.test", createConnection: () => connection });
    let hasResponse = false;
    call.on("error", () => resolve(undefined));
    call.on("close", () => hasResponse || resolve(undefined));
    call.on("response", (response: IncomingMessage) => {
      hasResponse = true;
      let body = "";
      response.setEncoding("latin1").on("data", (part: string) => (body += part));
      response.on("error", () => resolve(undefined));
      response.on("close", () => {
        resolve(
          response.complete ? { status: response.statusCode ?? null, headers: pairs(response), body } : undefined,
        );
      });
    });
    call.end("x");
    connection.push(Buffer.from(text, "latin1"));
    connection.push(null);
  });
}

function pairs({ rawHeaders }: IncomingMessage): [string, string][] {
  const found: [string, string][] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) found.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return found;
}

const line = fc.constantFrom(
  "Content-Length: 5",
  "Content-Length: 0",
  "Content-Length: 5 ",
  "Content-Length: 05",
  "Content-Length: +5",
  "Content-Length: 5, 5",
  "content-length:\t2",
  "Content-Length : 5",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: identity",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding:  Chunked ",
  "Connection: close",
  "Connection: keep-alive, x",
  "X-A: b",
  "X-A:",
  " folded",
  "\tfolded",
  "no colon",
  "X\u0000: y",
  "X: a\u0001b",
  "X: a\u00ffb",
  "Trailer: x",
  "Upgrade: h2c",
);
const lineEnd = fc.constantFrom("\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\r\n");
const status = fc.constantFrom(
  "HTTP/1.1 200 OK",
  "HTTP/1.1 200",
  "HTTP/1.1 200 ",
  "HTTP/1.0 200 OK",
  "HTTP/1.1 204 No Content",
  "HTTP/1.1 304 Not Modified",
  "HTTP/1.1 500 Oops",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK",
  "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK",
  "HTTP/1.1  200 OK",
  "HTTP/1.1 20 OK",
  "HTTP/2 200 OK",
);
const body = fc.constantFrom(
  "",
  "hello",
  "he",
  "5\r\nhello\r\n0\r\n\r\n",
  "5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
  "005\r\nhello\r\n00\r\n\r\n",
  "0x5\r\nhello\r\n0\r\n\r\n",
  "-5\r\nhello\r\n0\r\n\r\n",
  "5 \r\nhello\r\n0\r\n\r\n",
  "5 ;a=b\r\nhello\r\n0\r\n\r\n",
  '5;a="b c"\r\nhello\r\n0\r\n\r\n',
  "5\nhello\n0\n\n",
  "5\r\nhelloX0\r\n\r\n",
  "helloHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
);
/** Responses that are made of parts, some of them wrong. A piece may be cut out or doubled. */
const responses = fc
  .record({
    status,
    lines: fc.array(fc.tuple(line, lineEnd), { maxLength: 4 }),
    end: lineEnd,
    body,
    from: fc.nat({ max: 120 }),
    cut: fc.constantFrom(0, 0, 0, 0, 1, 3),
  })
  .map(({ status: first, lines, end, body: rest, from, cut }) => {
    const text = `${first}\r\n${lines.map(([content, ending]) => content + ending).join("")}${end}${rest}`;
    return text.slice(0, from) + text.slice(from + cut);
  });

describe("a response parser beside Node's own", () => {
  it("reads whatever both accept alike: status, headers and body", async () => {
    let both = 0;
    await fc.assert(
      fc.asyncProperty(responses, async (text) => {
        const ours = readByOurs(text);
        const nodes = await readByNode(text);
        if (ours === undefined || nodes === undefined) return;
        both++;
        expect({ status: ours.status, body: ours.body }).toEqual({ status: nodes.status, body: nodes.body });
        expect(ours.headers.map(trimmed)).toEqual(nodes.headers.map(trimmed));
      }),
      { numRuns: RUNS },
    );
    expect(both).toBeGreaterThan(RUNS / 20);
  });

  it("uses a connection again only behind a response that Node reads alike", async () => {
    await fc.assert(
      fc.asyncProperty(responses, async (text) => {
        if (readByOurs(text)?.isReusable !== true) return;
        expect(await readByNode(text)).toMatchObject({
          status: readByOurs(text)?.status,
          body: readByOurs(text)?.body,
        });
      }),
      { numRuns: RUNS },
    );
  });
});

/** Makes values comparable, because Node trims spaces and joins continued lines in its own way. */
function trimmed([name, value]: readonly [string, string]): [string, string] {
  return [name, value.replaceAll(/\s+/g, " ").trim()];
}
