import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { answer, type RawReceiver } from "../../../test/servers/raw-receiver.ts";
import { failed, openReceiver, openSender, post, until } from "../../../test/webhooks/sender.harness.ts";

const head = "HTTP/1.1 200 OK\r\n";
const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;

interface RawResponse {
  readonly text: string;
  readonly result: Record<string, unknown>;
}

const protocol = failed("protocol", { status: null });
const half = failed("protocol", { status: 200 });

const noHttp: Record<string, RawResponse> = {
  "the greeting of another protocol": { text: "220 mail ready\r\n", result: protocol },
  "HTTP/2": { text: "\u0000\u0000\u0012\u0004\u0000\u0000\u0000\u0000\u0000", result: protocol },
  "HTTP/2 as text": { text: "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", result: protocol },
  "HTTP/0.9": { text: "<html>ok</html>", result: protocol },
  "the version 0.9": { text: "HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n", result: protocol },
  RTSP: { text: "RTSP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", result: protocol },
  "our request": { text: "POST /hook?x=1 HTTP/1.1\r\nhost: x\r\n\r\n", result: protocol },
  "a status below 100": { text: "HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n", result: protocol },
  "a status of four digits": { text: "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", result: protocol },
  "lines that end in LF alone": { text: "HTTP/1.1 200 OK\nContent-Length: 0\n\n", result: protocol },
  "a header with a NUL": { text: `${head}X: a\u0000b\r\n\r\n`, result: protocol },
  "a header without a colon": { text: `${head}nonsense\r\n\r\n`, result: protocol },
  "another protocol to go on with": {
    text: "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    result: protocol,
  },
};

const lies: Record<string, RawResponse> = {
  "two lengths": { text: `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, result: protocol },
  "one length twice": { text: `${head}Content-Length: 2\r\nContent-Length: 2\r\n\r\nab`, result: protocol },
  "a length and chunks": {
    text: `${head}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    result: protocol,
  },
  "a negative length": { text: `${head}Content-Length: -1\r\n\r\nab`, result: protocol },
  "a length in another notation": { text: `${head}Content-Length: 0x2\r\n\r\nab`, result: protocol },
  "a length beyond all numbers": { text: `${head}Content-Length: ${"9".repeat(30)}\r\n\r\nab`, result: protocol },
  "a coding that we did not ask for": {
    text: `${head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    result: protocol,
  },
  "a coding over two lines": { text: `${head}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`, result: protocol },
  "a coding with a space before its colon": {
    text: `${head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
    result: protocol,
  },
  "a chunk's size that is none": { text: `${chunked}zz\r\n`, result: half },
  "a chunk's size in another notation": { text: `${chunked}0x2\r\nab\r\n0\r\n\r\n`, result: half },
  "a negative chunk": { text: `${chunked}-1\r\nab`, result: half },
  "a chunk beyond all numbers": { text: `${chunked}${"f".repeat(18)}\r\n`, result: half },
  "a chunk that is longer than its size": { text: `${chunked}2\r\nabXX0\r\n\r\n`, result: half },
};

/** Responses that can be read in only one way, but after which the connection must not be used again. */
const odd: Record<string, RawResponse> = {
  "a body longer than its length": { text: `${head}Content-Length: 2\r\n\r\nokX`, result: { answerBody: bytes("ok") } },
  "a body where there can be none": { text: "HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nok", result: { status: 204 } },
  "a space behind its length": { text: `${head}Content-Length: 2 \r\n\r\nok`, result: { answerBody: bytes("ok") } },
  "the beginning of a second answer": {
    text: `${answer("200 OK", "ok")}HTTP/1.1 5`,
    result: { answerBody: bytes("ok") },
  },
  "a second answer": { text: answer("200 OK", "ok") + answer("200 OK", "2"), result: { answerBody: bytes("ok") } },
};

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const body = Buffer.from(Array.from({ length: 60_000 }, (_, index) => (index * 31) % 251));
/** Longer than one read from the network, so that the header arrives in several reads. */
const longHeader = "h".repeat(10_000);

/** Returns the body in chunks of `size` bytes. */
function inChunks(size: number): Buffer {
  const chunks = Array.from({ length: Math.ceil(body.length / size) }, (_, index) => {
    const data = body.subarray(index * size, (index + 1) * size);
    return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from("\r\n")]);
  });
  return Buffer.concat([...chunks, Buffer.from("0\r\nX-Trailer: 1\r\n\r\n")]);
}

const framings: Record<string, Buffer> = {
  "with a length": Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]),
  "in one chunk": Buffer.concat([Buffer.from("Transfer-Encoding: chunked\r\n\r\n"), inChunks(60_000)]),
  "in small chunks": Buffer.concat([Buffer.from("Transfer-Encoding: chunked\r\n\r\n"), inChunks(100)]),
};

function writeInPieces(socket: Socket, bytesSent: Buffer, size: number): void {
  let at = 0;
  const more = (): void => {
    if (at < bytesSent.length) socket.write(bytesSent.subarray(at, (at += size)), () => setImmediate(more));
  };
  socket.setNoDelay(true);
  more();
}

async function meet(text: string) {
  const receiver = await openReceiver((socket) => socket.write(text, "latin1"));
  const sender = openSender();
  const results = [await post(sender, receiver.url), await post(sender, receiver.url)] as const;
  return { results, receiver };
}

describe("a receiver that sends", () => {
  it.each(Object.entries({ ...noHttp, ...lies }))("%s fails as such, every time", async (_name, { text, result }) => {
    const { results, receiver } = await meet(text);
    expect(results).toMatchObject([result, result]);
    expect(receiver.connections).toBe(2);
  });

  it.each(Object.entries(odd))(
    "%s has answered, and its connection is not used again",
    async (_name, { text, result }) => {
      const { results } = await meet(text);
      const succeeded = { outcome: "succeeded", reusedConnection: false, ...result };
      expect(results).toMatchObject([succeeded, succeeded]);
    },
  );
});

describe("a long answer", () => {
  const cases = Object.entries(framings).flatMap(([name, framing]) =>
    [10_001, 4_096, 60_000].map((size) => [name, size, framing] as const),
  );
  it.each(cases)("that comes %s, %d bytes at a time, is kept exactly", async (_name, size, framing) => {
    const bytesSent = Buffer.concat([Buffer.from(`${head}X-Long: ${longHeader}\r\n`), framing]);
    const receiver = await openReceiver((socket) => writeInPieces(socket, bytesSent, size));
    const sender = openSender();
    for (let round = 0; round < 3; round++) {
      const result = await post(sender, receiver.url);
      expect(result).toMatchObject({ outcome: "succeeded", answerCut: false });
      expect(Buffer.from(result.answerBody).equals(body)).toBe(true);
      expect(result.answerHeaders[0]).toEqual(["X-Long", longHeader]);
    }
  });
});

it("an answer that comes in pieces of a few bytes, behind heads that do not count, is read as if it came at once", async () => {
  const early = "HTTP/1.1 100 Continue\r\n\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
  const bytesSent = Buffer.from(early + answer("201 Created", "ok", ["X-One: a", "x-one: b"]));
  const sender = openSender();
  for (const size of [1, 2, 3, 7, 40]) {
    const receiver = await openReceiver((socket) => writeInPieces(socket, bytesSent, size));
    for (const reusedConnection of [false, true]) {
      const result = await post(sender, receiver.url);
      expect(result).toMatchObject({ outcome: "succeeded", status: 201, answerBody: bytes("ok"), reusedConnection });
      expect(result.answerHeaders).toEqual([
        ["X-One", "a"],
        ["x-one", "b"],
        ["Content-Length", "2"],
      ]);
    }
  }
});

/** Starts a receiver that answers each request with its number. */
async function openCounting(): Promise<RawReceiver> {
  return openReceiver((socket, nth) => socket.write(answer("200 OK", `answer ${nth}`)));
}

const stray = answer("200 OK", "nobody asked");
const textOf = ({ answerBody }: { readonly answerBody: Uint8Array }): string => Buffer.from(answerBody).toString();

it("an answer that nobody asked for ends the connection it came on", async () => {
  const receiver = await openCounting();
  const sender = openSender();
  await post(sender, receiver.url);
  let isClosed = false;
  receiver
    .last()
    ?.once("close", () => (isClosed = true))
    .write(stray);
  await until(() => isClosed);
  const next = await post(sender, receiver.url);
  expect(next).toMatchObject({ outcome: "succeeded", reusedConnection: false });
  expect(textOf(next)).toBe("answer 1");
});

it.each([
  ["a whole answer", stray],
  ["the beginning of one", "HTTP/1.1 200 OK\r\nContent-Len"],
  ["a 1xx head", "HTTP/1.1 103 Early Hints\r\n\r\n"],
  ["a line end and an answer", `\r\n${stray}`],
  ["a byte", "x"],
])("%s that lies ready as the next request goes out is not taken for its answer", async (_name, early) => {
  const receiver = await openCounting();
  const sender = openSender();
  for (let nth = 0; nth < 20; nth++) {
    const result = await post(sender, receiver.url);
    expect(result).toMatchObject({ outcome: "succeeded", reusedConnection: false });
    expect(textOf(result)).toBe(`answer ${nth}`);
    // The operating system has these bytes when `write` returns, before the sender notices them.
    receiver.last()?.write(early);
  }
});

it.each([[[]], [["Connection: close"]]])(
  "an answer before the request was read counts, and the rest of the request holds up no other (%j)",
  async (headers) => {
    const receiver = await openReceiver(
      () => {},
      {},
      (socket) =>
        socket.once("data", () => {
          socket.pause();
          socket.write(answer("413 Too Large", "no", headers));
        }),
    );
    const sender = openSender();
    const longBody = "x".repeat(8_000_000);
    for (let round = 0; round < 2; round++) {
      const result = await post(sender, receiver.url, longBody);
      expect(result).toMatchObject({ outcome: "rejected", status: 413, reusedConnection: false });
    }
  },
);
