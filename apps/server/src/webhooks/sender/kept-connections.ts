import type { Connection } from "./connection.ts";
import type { SenderLimits } from "./sender-limits.ts";

/** How many origins are remembered for closing what they should keep; the oldest are forgotten first. */
const MAX_DISTRUSTED = 1_000;

/** Connections between two attempts, by origin. Their idle time is undici's to watch. */
export class KeptConnections {
  readonly #limits: SenderLimits;
  readonly #byOrigin = new Map<string, Connection[]>();
  readonly #distrustedUntil = new Map<string, number>();
  #count = 0;

  constructor(limits: SenderLimits) {
    this.#limits = limits;
  }

  /** The one used last, so that the others may grow idle and close. */
  take(origin: string, now: number): Connection | undefined {
    for (;;) {
      const connection = this.#byOrigin.get(origin)?.at(-1);
      if (connection === undefined) return undefined;
      this.#remove(connection);
      if (connection.isUsable(now, this.#limits.ageMs)) return connection;
      connection.destroy();
    }
  }

  /** Keeps a connection, or closes it where enough are kept. */
  put(connection: Connection, now: number): void {
    const { idlePerOrigin, idleTotal, ageMs } = this.#limits;
    const kept = this.#byOrigin.get(connection.origin) ?? [];
    const isDistrusted = (this.#distrustedUntil.get(connection.origin) ?? now) > now;
    if (isDistrusted || kept.length >= idlePerOrigin || this.#count >= idleTotal || !connection.isUsable(now, ageMs)) {
      connection.destroy();
      return;
    }
    if (connection.uses === 1) connection.onClose(() => this.#remove(connection));
    kept.push(connection);
    this.#byOrigin.set(connection.origin, kept);
    this.#count++;
  }

  /**
   * Keeps nothing more of an origin for a while: it closed a connection that it had not said it would close. One that
   * always does so, after every answer, would otherwise fail every other attempt.
   */
  distrust(origin: string, now: number): void {
    const [oldest] = this.#distrustedUntil.keys();
    if (oldest !== undefined && this.#distrustedUntil.size >= MAX_DISTRUSTED) this.#distrustedUntil.delete(oldest);
    this.#distrustedUntil.delete(origin);
    this.#distrustedUntil.set(origin, now + this.#limits.distrustMs);
    for (const connection of [...(this.#byOrigin.get(origin) ?? [])]) {
      this.#remove(connection);
      connection.destroy();
    }
  }

  close(): void {
    for (const connection of [...this.#byOrigin.values()].flat()) {
      this.#remove(connection);
      connection.destroy();
    }
  }

  #remove(connection: Connection): void {
    const kept = this.#byOrigin.get(connection.origin);
    const index = kept?.lastIndexOf(connection) ?? -1;
    if (kept === undefined || index === -1) return;
    kept.splice(index, 1);
    this.#count--;
    if (kept.length === 0) this.#byOrigin.delete(connection.origin);
  }
}
