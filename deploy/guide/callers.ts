/* Sends requests as partners do: over TLS, to a chosen one of the two nodes of docs/two-nodes.md. */
import { randomUUID } from "node:crypto";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { ADDRESSES, type Machine } from "./machines.ts";

/** The response to a request. Status 0: there was none, and `body` is the error's text. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

type Node = "a" | "b";

/** Partners' programs that call the nodes. They trust only the authorities of the page. */
export class Callers {
  readonly #authorities: readonly string[];
  #isCalling = false;
  #calls: Promise<void> = Promise.resolve();
  #failures: string[] = [];
  #count = 0;

  private constructor(authorities: readonly string[]) {
    this.#authorities = authorities;
  }

  /**
   * Returns callers that trust the certificates of the nodes.
   * @param administrator the machine with the authority that the page has its reader make
   * @param root the root of the public certificates
   */
  static async trusting(administrator: Machine, root: string): Promise<Callers> {
    return new Callers([await administrator.run("cat /root/authority/authority.pem"), root]);
  }

  get(node: Node, path: string, key: string): Promise<Answer> {
    return this.#send(node, path, { authorization: `Bearer ${key}` });
  }

  post(node: Node, path: string, key: string, body: unknown): Promise<Answer> {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    return this.#send(node, path, { ...headers, "idempotency-key": randomUUID() }, JSON.stringify(body));
  }

  #send(node: Node, path: string, headers: Readonly<Record<string, string>>, body?: string): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const call = request({
      host: ADDRESSES[node],
      servername: "bikes.example.com",
      ca: [...this.#authorities],
      agent: false,
      path,
      method: body === undefined ? "GET" : "POST",
      headers: { host: "bikes.example.com", ...headers },
    });
    call.on("error", reject).on("response", (response) => {
      const answer = text(response).then((received): Answer => ({
        status: response.statusCode ?? 0,
        body: JSON.parse(received),
      }));
      answer.then(resolve, reject);
    });
    call.end(body);
    return promise;
  }

  /** Calls both nodes, up to ten times a second each, until `stop`. */
  start(key: string): void {
    this.#isCalling = true;
    [this.#failures, this.#count] = [[], 0];
    this.#calls = Promise.all([this.#callNode("a", key), this.#callNode("b", key)]).then(() => undefined);
  }

  async #callNode(node: Node, key: string): Promise<void> {
    while (this.#isCalling) {
      this.#count++;
      const { status, body } = await this.get(node, "/v1/rides?limit=5", key).catch((error: unknown): Answer => ({
        status: 0,
        body: String(error),
      }));
      if (status !== 200) this.#failures.push(`${new Date().toISOString()} ${node}: ${status} ${JSON.stringify(body)}`);
      await wait(100);
    }
  }

  /** Stops the calls. @returns their number, and those that failed */
  async stop(): Promise<{ readonly count: number; readonly failures: readonly string[] }> {
    this.#isCalling = false;
    await this.#calls;
    return { count: this.#count, failures: this.#failures };
  }
}
