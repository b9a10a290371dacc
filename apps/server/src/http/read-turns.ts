import { serviceError } from "@bikeshare/rules";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { KeyRow } from "../partners/keys/service.ts";
import { READ_CONNECTIONS } from "../storage/db/read-pool.ts";
import { callerOf } from "./authenticate.ts";

/**
 * The most reads of one partner that run at the same time, however many keys and connections it uses. Two for each database
 * connection for reads: PostgreSQL works on one while the next is on its way. At least four: on a small machine with a
 * single connection, this process writes several answers while that connection works on. Too low: PostgreSQL is idle while
 * a partner who polls fast waits. Too high: other partners' requests wait behind so many reads.
 */
export const MAX_RUNNING_READS = Math.max(4, 2 * READ_CONNECTIONS);

/** The reads of one partner. */
interface Reads {
  running: number;
  /** Functions that begin the waiting reads, in the order in which they came. */
  readonly waiting: (() => void)[];
}

/** A route's own `onRequest` hook, which may answer the request instead of the handler. */
type RequestHook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => unknown;

/**
 * Lets only a few reads of each partner run at the same time. Further reads of the partner wait; those of other partners do
 * not. A read's turn ends one pass of the event loop after its answer is made, so that the server reads other callers'
 * sockets in between. It does not last until the caller has received the answer, so a caller that does not read delays
 * nobody. Commands have no turns, because they share transactions. Call it before the routes are added.
 */
export function takeTurns(app: FastifyInstance): void {
  const begin = createTurns();
  app.addHook("onRoute", (route) => {
    // Fastify makes a HEAD route from each GET route as it was before this hook, and calls the hook for both.
    if (route.method !== "GET" && route.method !== "HEAD") return;
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
    // A route's own hook, such as that of the list of stations, answers from memory. Its turn ends one pass of the event loop
    // later, so that a partner gets only a few of these answers in each pass. If it does not answer, the handler takes
    // another turn.
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

/** Returns a function that calls `start` when it is a reader's turn. `start` gets a function that ends the turn. */
function createTurns(): (reader: string, start: (end: () => void) => void) => void {
  const readsOf = new Map<string, Reads>();
  return (reader, start) => {
    const reads = readsOf.get(reader) ?? { running: 0, waiting: [] };
    readsOf.set(reader, reads);
    // Hands a turn on to the next waiting read. If none waits, fewer reads run.
    const pass = () => {
      const next = reads.waiting.shift();
      if (next !== undefined) next();
      else if (--reads.running === 0) readsOf.delete(reader);
    };
    // The next read begins in a later pass of the event loop, so that requests of other connections are read in between.
    const begin = () => start(() => void setImmediate(pass));
    if (reads.running >= MAX_RUNNING_READS) reads.waiting.push(begin);
    else {
      reads.running++;
      begin();
    }
  };
}

/** Names who takes turns: a partner, or the operator with all its keys for a system. */
function readerOf({ system_id: systemId, partner_id: partnerId }: KeyRow): string {
  return partnerId === null ? systemId : `${systemId}\n${partnerId}`;
}
