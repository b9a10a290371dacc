/* Requests as partners send them: over TLS, to a node of their choice. */
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { ADDRESSES, type Machine } from "./machines.ts";

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export class Callers {
  readonly #authority: string;
  #isCalling = false;
  #calls: Promise<void> = Promise.resolve();
  #failures: string[] = [];
  #count = 0;

  private constructor(authority: string) {
    this.#authority = authority;
  }

  /** @param administrator where the authority of the page is */
  static async trusting(administrator: Machine): Promise<Callers> {
    return new Callers(await administrator.run("cat /root/authority/authority.pem"));
  }

  get(node: "a" | "b", path: string, key: string): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const call = request({
      ...{ host: ADDRESSES[node], servername: "bikes.example.com", ca: this.#authority, agent: false, path },
      headers: { host: "bikes.example.com", authorization: `Bearer ${key}` },
    });
    call.on("error", reject).on("response", (response) => {
      const answer = text(response).then((body): Answer => ({
        status: response.statusCode ?? 0,
        body: JSON.parse(body),
      }));
      answer.then(resolve, reject);
    });
    call.end();
    return promise;
  }

  /** Calls both nodes, ten times a second each, until `stop`. */
  start(key: string): void {
    this.#isCalling = true;
    [this.#failures, this.#count] = [[], 0];
    this.#calls = Promise.all([this.#callNode("a", key), this.#callNode("b", key)]).then(() => undefined);
  }

  async #callNode(node: "a" | "b", key: string): Promise<void> {
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

  /** @returns how many calls there were, and those that failed */
  async stop(): Promise<{ readonly count: number; readonly failures: readonly string[] }> {
    this.#isCalling = false;
    await this.#calls;
    return { count: this.#count, failures: this.#failures };
  }
}
