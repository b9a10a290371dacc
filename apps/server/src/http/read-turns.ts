import { serviceError } from "@bikeshare/rules";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { KeyRow } from "../partners/keys/service.ts";
import { READ_CONNECTIONS } from "../storage/db/read-pool.ts";
import { callerOf } from "./authenticate.ts";

/**
 * Reads of one partner that run at once, whatever number of keys and connections it uses. Too low: a partner who polls fast
 * leaves PostgreSQL idle, which works on one of each connection while one more is on its way; and its own reads wait while
 * others keep this process busy. Too high: everybody else's requests wait behind so many of it.
 */
export const MAX_RUNNING_READS = Math.max(4, 2 * READ_CONNECTIONS);

/** The reads of one partner. */
interface Reads {
  running: number;
  /** What begins those that wait, in the order in which they came. */
  readonly waiting: (() => void)[];
}

/** A hook that may answer by itself, before the handler does. */
type RequestHook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => unknown;

/**
 * Lets the reads of each partner run a few at a time; its others wait, and no other partner's wait behind them. A read has its
 * turn until its answer is made and other connections were read once, not until the caller has taken it: a caller that does
 * not read holds up nobody. Commands have no turns, because they share transactions. To be called before the routes are added.
 */
export function takeTurns(app: FastifyInstance): void {
  const begin = createTurns();
  app.addHook("onRoute", (route) => {
    if (route.method !== "GET") return;
    const { handler, onRequest } = route;
    const handleInTurn: typeof handler = async function (request, reply) {
      const turn = Promise.withResolvers<() => void>();
      begin(readerOf(callerOf(request).key), turn.resolve);
      const end = await turn.promise;
      try {
        if (request.raw.socket.destroyed) throw serviceError("invalid_request", "readerGone");
        return await handler.call(this, request, reply);
      } finally {
        end();
      }
    };
    route.handler = function (request, reply) {
      return (request.caller === undefined ? handler : handleInTurn).call(this, request, reply);
    };
    if (typeof onRequest !== "function") return;
    const hook: RequestHook = onRequest.bind(app);
    route.onRequest = (request, reply, done) => {
      const { caller, raw } = request;
      if (caller === undefined) return void hook(request, reply, done);
      begin(readerOf(caller.key), (end) => {
        end();
        if (raw.socket.destroyed) done(serviceError("invalid_request", "readerGone"));
        else void hook(request, reply, done);
      });
    };
  });
}

/** Returns what calls `start` when a reader's turn has come; `start` is given what ends the turn. */
function createTurns(): (reader: string, start: (end: () => void) => void) => void {
  const readsOf = new Map<string, Reads>();
  return (reader, start) => {
    const reads = readsOf.get(reader) ?? { running: 0, waiting: [] };
    readsOf.set(reader, reads);
    const pass = () => {
      const next = reads.waiting.shift();
      if (next !== undefined) next();
      else if (--reads.running === 0) readsOf.delete(reader);
    };
    // Not at once: what others have sent meanwhile is read between the two, also where answers need no waiting.
    const begin = () => start(() => void setImmediate(pass));
    if (reads.running >= MAX_RUNNING_READS) reads.waiting.push(begin);
    else {
      reads.running++;
      begin();
    }
  };
}

function readerOf({ system_id: systemId, partner_id: partnerId }: KeyRow): string {
  return partnerId === null ? systemId : `${systemId}\n${partnerId}`;
}
