import { type Dispatcher, Pool } from "undici";
import { type ApiRequest, errorCodeOf } from "../contract/endpoints.ts";

/** A request with its credentials. */
export interface OutgoingRequest extends ApiRequest {
  /** Undefined: it is sent without an `Authorization` header. */
  readonly key: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What came back. Times are in milliseconds of the monotonic clock. */
export interface Answer {
  /** 0: no whole answer came. */
  readonly status: number;
  /** Such as `200`, `409 no_bike_available`, `timeout`. */
  readonly outcome: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** When a connection took the request; as late as `endedAt` where none did. */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Sends requests over a bounded number of connections. */
export interface HttpClient {
  /** Sends a request, or queues it until a connection is free. Never throws: `onAnswer` gets every outcome. */
  send(request: OutgoingRequest, onAnswer: (answer: Answer) => void): void;
  /** Requests that were sent or queued and are not answered yet. */
  pending(): number;
  /** Abandons what is pending: each is answered `abandoned`. */
  close(): Promise<void>;
}

/** An answer that takes longer is an error. Longer hides a server that hangs; shorter blames one that is only slow. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** Most bytes of an answer that are read: a page of 200 takes some 100 kB. */
const MAX_ANSWER_BYTES = 16 * 1024 ** 2;

export function createHttpClient(url: string, connections: number): HttpClient {
  const { origin, pathname } = new URL(url);
  // The base address may have a path of its own.
  const basePath = pathname.replace(/\/$/, "");
  const pool = new Pool(origin, {
    connections,
    pipelining: 1,
    connect: { timeout: REQUEST_TIMEOUT_MS },
    headersTimeout: REQUEST_TIMEOUT_MS,
    bodyTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: 60_000,
    maxResponseSize: MAX_ANSWER_BYTES,
  });
  let pending = 0;
  return {
    send(request, onAnswer) {
      // Below the bound a request has a connection at once, or one is opened for it, which is part of the service.
      const startedAt = pending < connections ? performance.now() : undefined;
      pending++;
      const handler = new AnswerHandler(startedAt, (answer) => {
        pending--;
        onAnswer(answer);
      });
      pool.dispatch({ ...dispatchOptions(request), path: basePath + request.path }, handler);
    },
    pending: () => pending,
    close: () => pool.destroy(),
  };
}

function dispatchOptions({ method, path, body, key, headers }: OutgoingRequest): Dispatcher.DispatchOptions {
  return {
    method,
    path,
    body: body ?? null,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
  };
}

/** Collects one answer. The callbacks of undici are taken as they are: a promise each would cost as much again. */
class AnswerHandler implements Dispatcher.DispatchHandler {
  #startedAt: number | undefined;
  #status = 0;
  #headers: Answer["headers"] = {};
  readonly #chunks: Buffer[] = [];
  readonly #onAnswer: (answer: Answer) => void;

  /** @param startedAt undefined: the request starts when a connection is free */
  constructor(startedAt: number | undefined, onAnswer: (answer: Answer) => void) {
    this.#startedAt = startedAt;
    this.#onAnswer = onAnswer;
  }

  onRequestStart(): void {
    this.#startedAt ??= performance.now();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Answer["headers"]): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const body = Buffer.concat(this.#chunks).toString();
    const code = this.#status >= 400 ? errorCodeOf(body) : undefined;
    this.#finish(this.#status, code === undefined ? String(this.#status) : `${this.#status} ${code}`, body);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish(0, failureOf(error), "");
  }

  #finish(status: number, outcome: string, body: string): void {
    const endedAt = performance.now();
    const startedAt = this.#startedAt ?? endedAt;
    this.#onAnswer({ status, outcome, body, headers: this.#headers, startedAt, endedAt });
  }
}

/** A name for what went wrong; the same for every request with the same trouble. */
function failureOf(error: Error & { code?: string }): string {
  const { code } = error;
  if (code === "UND_ERR_DESTROYED" || code === "UND_ERR_ABORTED") return "abandoned";
  if (code?.endsWith("TIMEOUT") === true) return "timeout";
  return code ?? error.name;
}
