import { serviceError } from "@bikeshare/rules";
import type { FastifyInstance } from "fastify";
import type { KeyRow } from "../partners/keys/service.ts";

/**
 * Reads of one partner that run at once, whatever number of keys and connections it uses. Too low: a partner who polls fast
 * leaves PostgreSQL idle. Too high: everybody else's requests wait behind so many of it.
 */
const MAX_RUNNING = 8;

/** The reads of one partner. */
interface Reads {
  running: number;
  /** What begins those that wait, in the order in which they came. */
  readonly waiting: (() => void)[];
}

/**
 * Lets the reads of each partner run a few at a time; its others wait, and no other partner's wait behind them. A read has its
 * turn until its answer is made, not until the caller has taken it: a caller that does not read holds up nobody. Commands have
 * no turns, because they share transactions. To be called before the routes are added.
 */
export function takeTurns(app: FastifyInstance): void {
  const readsOf = new Map<string, Reads>();
  app.addHook("onRoute", (route) => {
    if (route.method !== "GET") return;
    const { handler } = route;
    route.handler = function (request, reply) {
      const { caller, raw } = request;
      if (caller === undefined) return handler.call(this, request, reply);
      return inTurn(readerOf(caller.key), () => {
        if (raw.socket.destroyed) throw serviceError("invalid_request", "readerGone");
        return handler.call(this, request, reply);
      });
    };
  });

  async function inTurn<Result>(reader: string, read: () => Result): Promise<Awaited<Result>> {
    const reads = readsOf.get(reader) ?? { running: 0, waiting: [] };
    readsOf.set(reader, reads);
    if (reads.running < MAX_RUNNING) reads.running++;
    else {
      const turn = Promise.withResolvers<void>();
      reads.waiting.push(turn.resolve);
      await turn.promise;
    }
    try {
      return await read();
    } finally {
      const next = reads.waiting.shift();
      // Not at once: what others have sent meanwhile is read between the two.
      if (next !== undefined) setImmediate(next);
      else if (--reads.running === 0) readsOf.delete(reader);
    }
  }
}

function readerOf({ system_id: systemId, partner_id: partnerId }: KeyRow): string {
  return partnerId === null ? systemId : `${systemId}\n${partnerId}`;
}
