/*
 * Simulates an operator's backend that creates up to ten stations a second, and records which of them were acknowledged. It
 * runs during the walk (walk.ts), which follows the pages of the guide.
 * database-checks.ts uses it to check that a promotion or a recovery of the database loses no acknowledged write.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Callers } from "./callers.ts";

/** A write that was acknowledged. */
interface Write {
  readonly id: string;
  readonly sentAt: Date;
  readonly answeredAt: Date;
}

/** Milliseconds between two writes, and between two looks at whether one was acknowledged. */
const INTERVAL_MS = 100;

/** The writes of a simulated backend. They begin at once, and go on until `stop`. */
export class Writes {
  readonly #callers: Callers;
  readonly #key: string;
  readonly acknowledged: Write[] = [];
  /** The other writes: the time, the node and its answer of each, as text. */
  readonly failures: string[] = [];
  #isWriting = true;
  readonly #loop: Promise<void>;

  constructor(callers: Callers, key: string) {
    this.#callers = callers;
    this.#key = key;
    this.#loop = this.#write();
  }

  /**
   * Creates stations, by turns at both nodes of the service. Their ids are sorted after those of the city, so the first page
   * of the list, which the checks compare, stays the same.
   */
  async #write(): Promise<void> {
    const run = Date.now().toString(36);
    let number = 0;
    while (this.#isWriting) {
      number++;
      const station = { id: `walk-${run}-${number}`, name: "A station of the walk", lat: 40.7, lon: -74 };
      const sentAt = new Date();
      const node = number % 2 === 0 ? "a" : "b";
      // Status 0 stands for no response.
      const failed = (error: unknown) => ({ status: 0, body: String(error) });
      const { status, body } = await this.#callers
        .post(node, "/operator/v1/stations", this.#key, { items: [station] })
        .catch(failed);
      const { results } = body as { readonly results?: readonly { readonly outcome: string }[] };
      if (results?.[0]?.outcome === "created")
        this.acknowledged.push({ id: station.id, sentAt, answeredAt: new Date() });
      else this.failures.push(`${sentAt.toISOString()} ${node}: ${status} ${JSON.stringify(body)}`);
      await wait(INTERVAL_MS);
    }
  }

  /** The longest period, in milliseconds, between two successive acknowledgements. At least one write is acknowledged. */
  get longestGapMs(): number {
    const times = this.acknowledged.map(({ answeredAt }) => answeredAt.getTime());
    const gaps = times.map((time, index) => {
      const previous = times[index - 1] ?? time;
      return time - previous;
    });
    return Math.max(...gaps);
  }

  /** Waits until a write that is sent after this call is acknowledged. */
  async untilAcknowledged(timeoutMs: number): Promise<void> {
    const begin = new Date();
    const end = performance.now() + timeoutMs;
    while (!this.acknowledged.some(({ sentAt }) => sentAt > begin)) {
      if (performance.now() > end) throw new Error(`no write succeeds: ${this.failures.at(-1)}`);
      await wait(INTERVAL_MS);
    }
  }

  async stop(): Promise<void> {
    this.#isWriting = false;
    await this.#loop;
  }
}
