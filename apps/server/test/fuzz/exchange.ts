import { connect } from "node:net";
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";

/** The final response to a request, with its body decompressed. */
export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Undefined: the connection ended before the body was complete, or the body has no end. */
  readonly body: Buffer | undefined;
  readonly ms: number;
}

/**
 * Milliseconds after which a response counts as missing: more than any time limit of the service, even on a busy machine.
 */
const ANSWER_TIMEOUT_MS = 45_000;

/**
 * Sends the bytes of a request on a new connection, and reads the first response.
 * @param hasNoBody whether the response has no body, because the request is a HEAD
 * @returns undefined if the connection was closed without a response
 */
export function exchange(port: number, bytes: Buffer, hasNoBody: boolean): Promise<Answer | undefined> {
  const start = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
  let received: Buffer = Buffer.alloc(0);
  const socket = connect(port, "127.0.0.1", () => void socket.write(bytes));
  const timer = setTimeout(() => {
    socket.destroy();
    reject(new Error(`no whole answer within ${ANSWER_TIMEOUT_MS} ms: ${received.toString("latin1", 0, 500)}`));
  }, ANSWER_TIMEOUT_MS);
  const finish = (answer: Omit<Answer, "ms"> | undefined) => {
    clearTimeout(timer);
    socket.destroy();
    resolve(answer && { ...answer, ms: performance.now() - start });
  };
  socket.on("data", (part: Buffer) => {
    received = received.length === 0 ? part : Buffer.concat([received, part]);
    const answer = readAnswer(received, hasNoBody);
    if (answer !== undefined && (answer.body !== undefined || isEndless(answer.headers))) finish(answer);
  });
  socket.on("end", () => finish(readAnswer(received, hasNoBody)));
  // The response may have arrived before the connection was reset.
  socket.on("error", () => finish(readAnswer(received, hasNoBody)));
  return promise;
}

function isEndless(headers: ReadonlyMap<string, string>): boolean {
  return headers.get("content-type") === "text/event-stream";
}

/** Returns the response so far; undefined until its head is complete. */
function readAnswer(bytes: Buffer, hasNoBody: boolean): Omit<Answer, "ms"> | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const status = Number(first.split(" ")[1]);
  // The final response follows an interim one.
  if (status === 100) return readAnswer(bytes.subarray(end + 4), hasNoBody);
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const rest = bytes.subarray(end + 4);
  if (hasNoBody || status === 304 || status === 204) return { status, headers, body: Buffer.alloc(0) };
  const body = bodyOf(rest, headers);
  return { status, headers, body: body && decode(body, headers.get("content-encoding")) };
}

function decode(body: Buffer, encoding: string | undefined): Buffer {
  const decoders: Readonly<Record<string, (body: Buffer) => Buffer>> = {
    gzip: gunzipSync,
    deflate: inflateSync,
    br: brotliDecompressSync,
    zstd: zstdDecompressSync,
  };
  return encoding === undefined ? body : (decoders[encoding]?.(body) ?? Buffer.from(`encoded as ${encoding}`));
}

function bodyOf(rest: Buffer, headers: ReadonlyMap<string, string>): Buffer | undefined {
  if (headers.get("transfer-encoding") === "chunked") return joinChunks(rest);
  const length = Number(headers.get("content-length") ?? Number.NaN);
  return rest.length >= length ? rest.subarray(0, length) : undefined;
}

function joinChunks(rest: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = rest.indexOf("\r\n", at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(rest.toString("latin1", at, lineEnd), 16);
    if (size === 0) return Buffer.concat(chunks);
    if (rest.length < lineEnd + 2 + size + 2) return undefined;
    chunks.push(rest.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
