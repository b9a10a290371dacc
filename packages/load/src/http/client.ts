import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { errorCodeOf } from "../contract/endpoints.ts";
import { ResponseReader } from "./response-reader.ts";

/*
 * The HTTP client of load tests and benches. It measures each request, counts every failure as an outcome instead of
 * throwing, and costs little processor time.
 */

/** A request with its credentials. */
export interface HttpRequest {
  /** Default: GET. */
  readonly method?: string;
  /** The path with the query. */
  readonly path: string;
  readonly body?: string | undefined;
  /** Undefined: it is sent without an `Authorization` header. */
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The outcome of a request. Times are in milliseconds of the monotonic clock. */
export interface Answer {
  /** 0: there was no complete answer. */
  readonly status: number;
  /** Such as `200`, `409 no_bike_available`, `timeout`, `ECONNREFUSED`. */
  readonly outcome: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The bytes of the whole answer, including its headers. */
  readonly bytes: number;
  /** When a connection took the request; equal to `endedAt` if none did. */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Sends requests over a bounded number of connections. */
export interface HttpClient {
  /** Sends a request, or queues it until a connection is free. Never throws: `onAnswer` gets every outcome. */
  send(request: HttpRequest, onAnswer: (answer: Answer) => void): void;
  /** Like `send`, and returns the outcome. Never rejects. */
  ask(request: HttpRequest): Promise<Answer>;
  /** Returns how many requests were sent or queued and are not answered yet. */
  pending(): number;
  /** Abandons pending requests: each is answered `abandoned`. */
  close(): void;
}

export interface HttpClientOptions extends Partial<Omit<ConnectionOptions, "url" | "localAddress">> {
  readonly connections: number;
  /** Local addresses that connections use in turn, to imitate many callers. */
  readonly localAddresses?: readonly string[];
}

/** Timeout of a request. Too low: counts a slow server as failing. Too high: hides a server that hangs. */
export const REQUEST_TIMEOUT_MS = 10_000;
/**
 * Time for which an idle connection may be used again. It is shorter than the time for which servers and load balancers
 * keep one open, so that none of them closes a connection while a request is sent.
 */
const IDLE_TIMEOUT_MS = 4_000;

/** A request that waits for a connection, and who gets its answer. */
interface Waiting {
  readonly request: HttpRequest;
  readonly onAnswer: (answer: Answer) => void;
}

/**
 * Creates a client that opens connections as needed. It shares the machine with the measured server, and so supports
 * only the necessary part of HTTP/1.1: `node:http` takes four times the processor time.
 */
export function createHttpClient(url: string, options: HttpClientOptions): HttpClient {
  return new Client(new URL(url), options);
}

class Client implements HttpClient {
  readonly #url: URL;
  readonly #options: HttpClientOptions;
  readonly #idle: Connection[] = [];
  /** All connections, idle or busy. */
  readonly #open = new Set<Connection>();
  readonly #queue: Waiting[] = [];
  /** How many connections were opened so far: it selects the next local address. */
  #opened = 0;
  #pending = 0;

  constructor(url: URL, options: HttpClientOptions) {
    this.#url = url;
    this.#options = options;
  }

  send(request: HttpRequest, onAnswer: (answer: Answer) => void): void {
    this.#pending++;
    const isAllowed = () => this.#open.size < this.#options.connections;
    const connection = this.#takeIdle() ?? (isAllowed() ? this.#connect() : undefined);
    if (connection === undefined) this.#queue.push({ request, onAnswer });
    else this.#run(connection, { request, onAnswer });
  }

  ask(request: HttpRequest): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.send(request, resolve);
    return promise;
  }

  pending(): number {
    return this.#pending;
  }

  close(): void {
    for (const { onAnswer } of this.#queue.splice(0)) {
      this.#pending--;
      onAnswer(answerWithout("abandoned", performance.now()));
    }
    for (const connection of this.#open) connection.end();
  }

  #connect(): Connection {
    const { localAddresses, timeoutMs = REQUEST_TIMEOUT_MS, ...more } = this.#options;
    const localAddress = localAddresses?.[this.#opened++ % localAddresses.length];
    const connection = new Connection({ ...more, url: this.#url, timeoutMs, localAddress });
    this.#open.add(connection);
    return connection;
  }

  #takeIdle(): Connection | undefined {
    // Takes the last used connection, so that connections opened for a peak become idle and close. With several local
    // addresses it takes all connections in turn.
    const take = () => (this.#options.localAddresses === undefined ? this.#idle.pop() : this.#idle.shift());
    for (let connection = take(); connection !== undefined; connection = take()) {
      if (connection.idleMs() < IDLE_TIMEOUT_MS) return connection;
      connection.end();
      this.#open.delete(connection);
    }
    return undefined;
  }

  /** Sends a request on a free connection, and the next queued one after its answer. */
  #run(connection: Connection, { request, onAnswer }: Waiting): void {
    connection.send(request, (answer, isReusable) => {
      this.#pending--;
      if (!isReusable) this.#open.delete(connection);
      // The next request is sent before the caller handles the answer, so that its handling delays no request.
      const next = this.#queue.shift();
      if (next !== undefined) this.#run(isReusable ? connection : this.#connect(), next);
      else if (isReusable) this.#idle.push(connection);
      onAnswer(answer);
    });
  }
}

interface ConnectionOptions {
  readonly url: URL;
  /** Maximum milliseconds of silence after the request. */
  readonly timeoutMs: number;
  readonly localAddress: string | undefined;
  /** Default: true. False for a certificate that the caller has created. */
  readonly rejectUnauthorized?: boolean;
  /** Whether answers contain the body, not only its length. Default: true. */
  readonly keepsBodies?: boolean;
}

type OnAnswer = (answer: Answer, isReusable: boolean) => void;

const READ_BUFFER_BYTES = 64 * 1024;

/** A connection that sends one request at a time. */
class Connection {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #basePath: string;
  readonly #keepsBodies: boolean;
  readonly #timeoutMs: number;
  #response = new ResponseReader("GET", true);
  #onAnswer: OnAnswer | undefined;
  #startedAt = 0;
  #idleSince = performance.now();
  #isEnded = false;

  constructor({ url, timeoutMs, localAddress, rejectUnauthorized = true, keepsBodies = true }: ConnectionOptions) {
    this.#host = url.host;
    // The base address may have its own path.
    this.#basePath = url.pathname.replace(/\/$/, "");
    this.#keepsBodies = keepsBodies;
    this.#timeoutMs = timeoutMs;
    const isSecure = url.protocol === "https:";
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const target = { host, port: Number(url.port || (isSecure ? 443 : 80)), localAddress, noDelay: true };
    if (isSecure) {
      this.#socket = connectTls({ ...target, servername: host, rejectUnauthorized });
      this.#socket.on("data", (part: Buffer) => this.#read(part));
    } else {
      const callback = (length: number, buffer: Uint8Array): boolean => {
        this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, length));
        return true;
      };
      this.#socket = connectPlain({ ...target, onread: { buffer: Buffer.allocUnsafe(READ_BUFFER_BYTES), callback } });
    }
    this.#socket.on("timeout", () => this.#fail("timeout"));
    this.#socket.on("error", (error: Error & { code?: string }) => this.#fail(error.code ?? error.name));
    this.#socket.on("close", () => {
      // An answer without a length ends with its connection.
      if (this.#response.endsWithConnection()) this.#finish();
      else this.#fail("connection closed");
    });
  }

  /** Returns the milliseconds since the connection's last answer; infinite: the connection has ended. */
  idleMs(): number {
    return this.#isEnded ? Infinity : performance.now() - this.#idleSince;
  }

  send({ method = "GET", path, body, key, headers }: HttpRequest, onAnswer: OnAnswer): void {
    let head = `${method} ${this.#basePath}${path} HTTP/1.1\r\nhost: ${this.#host}\r\n`;
    if (key !== undefined) head += `authorization: Bearer ${key}\r\n`;
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
    if (body !== undefined) head += `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
    this.#response = new ResponseReader(method, this.#keepsBodies);
    this.#onAnswer = onAnswer;
    this.#startedAt = performance.now();
    this.#socket.setTimeout(this.#timeoutMs);
    this.#socket.write(`${head}\r\n${body ?? ""}`);
  }

  /** Closes the connection. A request in flight is answered `abandoned`. */
  end(): void {
    this.#fail("abandoned");
  }

  #read(part: Buffer): void {
    if (this.#onAnswer !== undefined && this.#response.add(part)) this.#finish();
  }

  #finish(): void {
    const [response, onAnswer] = [this.#response, this.#onAnswer];
    this.#onAnswer = undefined;
    const endedAt = performance.now();
    this.#idleSince = endedAt;
    this.#socket.setTimeout(0);
    const { status, bytes } = response;
    const isReusable = response.keepsAlive() && !this.#isEnded;
    // `end` does not answer the request a second time, because `#onAnswer` is cleared.
    if (!isReusable) this.end();
    const answer: Answer = {
      status,
      bytes,
      startedAt: this.#startedAt,
      endedAt,
      outcome: outcomeOf(status, () => response.body),
      // Getters, so that the body and the headers are decoded only when somebody reads them.
      get body() {
        return response.body;
      },
      get headers() {
        return response.headers;
      },
    };
    onAnswer?.(answer, isReusable);
  }

  #fail(outcome: string): void {
    this.#isEnded = true;
    this.#socket.destroy();
    const onAnswer = this.#onAnswer;
    this.#onAnswer = undefined;
    onAnswer?.(answerWithout(outcome, this.#startedAt), false);
  }
}

/** Returns the outcome of a request without an answer. */
function answerWithout(outcome: string, startedAt: number): Answer {
  return { status: 0, outcome, body: "", headers: {}, bytes: 0, startedAt, endedAt: performance.now() };
}

/** Returns the status, and the error code of an error. */
function outcomeOf(status: number, body: () => string): string {
  const code = status >= 400 ? errorCodeOf(body()) : undefined;
  return code === undefined ? String(status) : `${status} ${code}`;
}
