import { once } from "node:events";
import { connect, type Socket } from "node:net";

/*
 * A client that costs little, because it shares the machine with what it measures: requests are bytes made before, and of a
 * response only its status and length are read. Each connection sends its next request when it has the whole response.
 */

export interface LoadOptions {
  readonly base: string;
  /** Asked for in turn, so that no cache of a single answer is measured. */
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Used in turn. */
  readonly keys?: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  /** Any other status ends the load with an error. */
  readonly status?: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly bytes: number;
}

/** Sends requests for some seconds. What is under way at the end is dropped and not counted. */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const { base, connections, seconds, status = 200 } = options;
  const { hostname, port } = new URL(base);
  const requests = requestsOf(options);
  const totals = { requests: 0, bytes: 0 };
  let next = 0;
  const begun = performance.now();
  const clients = Array.from({ length: connections }, () =>
    openClient({ hostname, port: Number(port), status, totals, next: () => requests[next++ % requests.length] }),
  );
  try {
    const end = new Promise<void>((resolve) => {
      setTimeout(resolve, seconds * 1000);
    });
    await Promise.race([end, ...clients.map(({ failed }) => failed)]);
    return { ...totals, seconds: (performance.now() - begun) / 1000 };
  } finally {
    for (const { socket } of clients) socket.destroy();
  }
}

/** Connections that stay open from one batch of requests to the next. */
export interface Batches {
  /** Sends so many requests, as `load` does. */
  send(count: number): Promise<void>;
  close(): void;
}

/** Resolves when all of them are open. */
export async function openBatches(options: Omit<LoadOptions, "seconds">): Promise<Batches> {
  const { base, connections, status = 200 } = options;
  const { hostname, port } = new URL(base);
  const requests = requestsOf(options);
  let [next, unsent, unanswered] = [0, 0, 0];
  let batch = Promise.withResolvers<void>();
  const take = () => (unsent-- > 0 ? requests[next++ % requests.length] : undefined);
  const totals = { requests: 0, bytes: 0 };
  const answered = () => {
    if (--unanswered === 0) batch.resolve();
  };
  const clients = Array.from({ length: connections }, () =>
    openClient({ hostname, port: Number(port), status, totals, next: take, answered }),
  );
  for (const { failed } of clients) failed.catch((error: unknown) => batch.reject(error));
  await Promise.all(clients.map(({ socket }) => once(socket, "connect")));
  return {
    async send(count) {
      batch = Promise.withResolvers();
      unsent = unanswered = count;
      for (const { socket } of clients) socket.write(take() ?? "");
      await batch.promise;
    },
    close() {
      batch.promise.catch(() => undefined);
      for (const { socket } of clients) socket.destroy();
    },
  };
}

/** Each path with each key, as bytes. */
function requestsOf(options: Omit<LoadOptions, "connections" | "seconds">): Buffer[] {
  const { base, paths, headers, keys = [undefined] } = options;
  const { host } = new URL(base);
  const request = (path: string, key: string | undefined) => {
    const lines = Object.entries({ host, ...headers, ...authorization(key) }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  };
  return paths.flatMap((path) => keys.map((key) => request(path, key)));
}

/** The header that carries a key, if there is one. */
export function authorization(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

interface ClientOptions {
  readonly hostname: string;
  readonly port: number;
  readonly status: number;
  readonly totals: { requests: number; bytes: number };
  readonly next: () => Buffer | undefined;
  /** Called after each response. */
  readonly answered?: () => void;
}

function openClient({ hostname, port, status, totals, next, answered }: ClientOptions) {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  let response = createResponse();
  const socket: Socket = connect({
    host: hostname,
    port,
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafe(64 * 1024),
      callback(bytes, buffer) {
        const part = Buffer.from(buffer.buffer, buffer.byteOffset, bytes);
        if (!response.add(part)) return true;
        if (response.status() !== status) reject(new Error(`answered ${response.status()}: ${response.text()}`));
        totals.requests++;
        totals.bytes += response.length();
        response = createResponse();
        socket.write(next() ?? "");
        answered?.();
        return true;
      },
    },
  });
  socket.on("connect", () => socket.write(next() ?? ""));
  socket.on("error", reject);
  socket.on("close", () => reject(new Error("the connection was closed")));
  return { socket, failed };
}

/** Follows one response to its end. */
function createResponse() {
  let head = "";
  let length = 0;
  let missing: number | undefined;
  let isChunked = false;

  function readHead(): void {
    const end = head.indexOf("\r\n\r\n");
    if (end === -1) return;
    const body = /\r\ncontent-length: *(\d+)/i.exec(head.slice(0, end));
    isChunked = body === null && /\r\ntransfer-encoding: *chunked/i.test(head.slice(0, end));
    missing = end + 4 + Number(body?.[1] ?? 0) - length;
  }
  return {
    /** @returns whether the response is whole */
    add(part: Buffer): boolean {
      length += part.length;
      if (missing === undefined) {
        head += part.toString("latin1");
        readHead();
        if (missing === undefined) return false;
      } else missing -= part.length;
      // Node ends a chunked response with a write of its own or at the end of the last one.
      return isChunked ? part.subarray(-5).equals(LAST_CHUNK) : missing <= 0;
    },
    status: () => Number(head.slice(9, 12)),
    text: () => head.slice(0, 500),
    length: () => length,
  };
}

const LAST_CHUNK = Buffer.from("0\r\n\r\n");
