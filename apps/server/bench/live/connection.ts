import { connect, type Socket } from "node:net";

/** A response, as far as a benchmark looks at it. */
export interface Response {
  readonly status: number;
  readonly body: string;
}

/**
 * A connection that sends one request after the other. It does no more than this service's responses need: node:http takes
 * four times the processor time, of the same cores that the service is measured on.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #head: string;
  #received = "";
  #answer: ((response: Response) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  constructor(url: string, key: string) {
    const { hostname, port, host } = new URL(url);
    this.#head = `host: ${host}\r\nauthorization: Bearer ${key}\r\n`;
    this.#socket = connect(Number(port), hostname).setNoDelay().setEncoding("utf8");
    this.#socket.on("data", (text: string) => {
      this.#received += text;
      this.#read();
    });
    const lost = (error?: Error) => this.#fail?.(error ?? new Error("the connection was closed"));
    this.#socket.on("error", lost);
    this.#socket.on("close", () => lost());
  }

  send(method: string, path: string, body?: string, idempotencyKey?: string): Promise<Response> {
    const headers =
      (idempotencyKey === undefined ? "" : `idempotency-key: ${idempotencyKey}\r\n`) +
      (body === undefined ? "" : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`);
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#fail = reject;
      this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${headers}\r\n${body ?? ""}`);
    });
  }

  #read(): void {
    const end = this.#received.indexOf("\r\n\r\n");
    if (end === -1) return;
    const head = this.#received.slice(0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    if (Number.isNaN(length)) return this.#fail?.(new Error(`no Content-Length: ${head}`));
    // The bodies are ASCII: a character is a byte.
    if (this.#received.length < end + 4 + length) return undefined;
    const body = this.#received.slice(end + 4, end + 4 + length);
    this.#received = this.#received.slice(end + 4 + length);
    return this.#answer?.({ status: Number(head.slice(9, 12)), body });
  }

  close(): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }
}
