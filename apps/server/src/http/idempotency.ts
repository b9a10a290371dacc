import { idempotencyKey } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import { CommitOutcomeUnknown, isUnavailable } from "../storage/db/errors.ts";
import { callerOf } from "./authenticate.ts";
import {
  type Answer,
  type CallName,
  type CallOutcome,
  type CombinedWork,
  doOnce,
  doOnceTogether,
  hashOf,
  type IdempotencyContext,
  type RepeatableAnswer,
  type RepeatableCall,
  waitWhileRunning,
  type Work,
} from "./idempotency/service.ts";

/*
 * Runs a request with an `Idempotency-Key` only once, however often it is repeated, and lets requests of one verb share
 * transactions. A verb is an operation, such as creating reservations; a call is one request for it.
 *
 * Routes use `withIdempotency`, or `combineRequests` for a verb whose calls share transactions. Both are at the end. Before
 * them are the parts of `combineRequests`: a fair queue, and `CommandCombiner`, which gathers calls.
 */

/** A queue that serves its owners in turn, however many items each owner has added. */
class FairQueue<Item> {
  /** The items of each owner; the owner whose turn is next comes first. */
  readonly #itemsOf = new Map<string, Item[]>();

  get isEmpty(): boolean {
    return this.#itemsOf.size === 0;
  }

  add(owner: string, item: Item): void {
    const items = this.#itemsOf.get(owner);
    if (items === undefined) this.#itemsOf.set(owner, [item]);
    else items.push(item);
  }

  /** Takes items, one of each owner in turn, while the sum of their weights is at most `limit`. Takes at least one. */
  take(limit: number, weightOf: (item: Item) => number): Item[] {
    const taken: Item[] = [];
    let weight = 0;
    for (;;) {
      const [next] = this.#itemsOf;
      if (next === undefined) return taken;
      const [owner, items] = next;
      const [item] = items;
      if (item === undefined) throw new Error("an owner without items is not kept");
      weight += weightOf(item);
      if (weight > limit && taken.length > 0) return taken;
      taken.push(item);
      items.shift();
      // Moves the owner to the end of the queue.
      this.#itemsOf.delete(owner);
      if (items.length > 0) this.#itemsOf.set(owner, items);
    }
  }
}

/** A call that may share a transaction with others. */
export interface CombinableCall {
  /** Calls of different systems are never combined. */
  readonly systemId: string;
  /** The id of the key that made the call. Keys take turns. */
  readonly owner: string;
  /** The number of its items. */
  readonly items: number;
}

interface CommandCombinerOptions<Call, Result> {
  /**
   * Runs calls of one system in one transaction. If it fails, no call had any effect, unless the error is
   * `CommitOutcomeUnknown`.
   * @param onCommitting called when all statements have been sent and only the commit remains
   * @returns an outcome for each call, in order; for `run-alone`, `runAlone` is called next
   */
  readonly runTogether: (
    systemId: string,
    calls: readonly Call[],
    onCommitting: () => void,
  ) => Promise<readonly CallOutcome<Result>[]>;
  /** Tells whether a call may run again when it is unknown whether it took effect. */
  readonly isRepeatable: (call: Call) => boolean;
  /** Runs one call in its own transaction. */
  readonly runAlone: (call: Call) => Promise<Result>;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic?: () => number;
}

/** Limits the items of one transaction. Too low: a commit serves fewer calls. Too high: holds locks for longer. */
export const MAX_ITEMS = 200;
/**
 * The most open transactions of a verb in a system: one runs its statements, and the commit of the other waits for the
 * disk.
 */
const MAX_OPEN = 2;
/** Limits how many calls of a verb run alone at the same time. Too high: takes connections from other verbs. */
const ALONE_CONCURRENCY = 4;
/** Limits the calls of one owner for a verb that wait or run. Too high: a slow database delays other owners. */
export const MAX_CALLS_OF_OWNER = 1_000;
/** Limits all calls for a verb that wait or run. Too high: a slow database fills the memory with calls. */
export const MAX_CALLS = 4_000;
/**
 * A call that has waited longer than this when its transaction begins is rejected. About as long as a caller waits for a
 * connection of the pool.
 */
export const MAX_WAIT_MS = 5_000;

/** A call that waits, and the promise of `run` that its outcome settles. */
interface Waiting<Call, Result> {
  readonly call: Call;
  /** Milliseconds of the clock `monotonic`. */
  readonly since: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The calls of a system that wait, and the transactions that serve them. Has nothing to do with the lanes of webhook
 * deliveries.
 */
interface Lane<Call, Result> {
  readonly systemId: string;
  readonly queue: FairQueue<Waiting<Call, Result>>;
  /** The number of open transactions. */
  open: number;
  /** Whether a transaction is about to begin, or still has statements to send. */
  isBusy: boolean;
}

/**
 * Combines calls of one verb, such as creating reservations. While a transaction runs, further calls gather. The next
 * transaction serves all of them, and begins while the previous one is committed. A call does not wait if no transaction
 * runs. If a transaction fails although the database is available, each of its calls that `#mayRunAlone` accepts runs alone,
 * so that a call cannot make others fail.
 */
export class CommandCombiner<Call extends CombinableCall, Result> {
  readonly #options: CommandCombinerOptions<Call, Result>;
  readonly #monotonic: () => number;
  readonly #lanes = new Map<string, Lane<Call, Result>>();
  readonly #alone = new FairQueue<Waiting<Call, Result>>();
  #servingAlone = 0;
  readonly #callsOf = new Map<string, number>();
  #calls = 0;

  constructor(options: CommandCombinerOptions<Call, Result>) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
  }

  /**
   * Runs a call, with others or alone.
   * @throws ServiceError `unavailable` when too many wait, or it waited too long; any error of the call
   */
  async run(call: Call): Promise<Result> {
    const { owner } = call;
    const ofOwner = this.#callsOf.get(owner) ?? 0;
    if (ofOwner >= MAX_CALLS_OF_OWNER || this.#calls >= MAX_CALLS) throw overloaded();
    this.#callsOf.set(owner, ofOwner + 1);
    this.#calls++;
    try {
      return await new Promise<Result>((resolve, reject) => {
        this.#add({ call, since: this.#monotonic(), resolve, reject });
      });
    } finally {
      this.#calls--;
      // The number is never undefined: this call was counted above.
      const left = (this.#callsOf.get(owner) ?? 1) - 1;
      if (left === 0) this.#callsOf.delete(owner);
      else this.#callsOf.set(owner, left);
    }
  }

  #add(waiting: Waiting<Call, Result>): void {
    const { systemId, owner } = waiting.call;
    const lane = this.#lanes.get(systemId) ?? { systemId, queue: new FairQueue(), open: 0, isBusy: false };
    this.#lanes.set(systemId, lane);
    lane.queue.add(owner, waiting);
    this.#serveNext(lane);
  }

  /** Begins a transaction for the waiting calls, unless a running transaction must first reach its commit, or end. */
  #serveNext(lane: Lane<Call, Result>): void {
    if (lane.isBusy || lane.open >= MAX_OPEN) return;
    if (lane.queue.isEmpty) {
      if (lane.open === 0) this.#lanes.delete(lane.systemId);
      return;
    }
    lane.isBusy = true;
    lane.open++;
    // Waits for the next pass of the event loop, because requests that arrive together are read one after the other.
    setImmediate(() => void this.#serve(lane));
  }

  async #serve(lane: Lane<Call, Result>): Promise<void> {
    // The transaction calls `onCommitting` before its commit, and again if it is repeated. The call below counts only if the
    // transaction never got there.
    let isCommitting = false;
    const onCommitting = () => {
      if (isCommitting) return;
      isCommitting = true;
      lane.isBusy = false;
      this.#serveNext(lane);
    };
    const batch = lane.queue.take(MAX_ITEMS, ({ call }) => call.items);
    await this.#runTogether(lane.systemId, batch, onCommitting);
    lane.open--;
    onCommitting();
    this.#serveNext(lane);
  }

  async #runTogether(
    systemId: string,
    batch: readonly Waiting<Call, Result>[],
    onCommitting: () => void,
  ): Promise<void> {
    const now = this.#monotonic();
    const isLate = ({ since }: Waiting<Call, Result>) => now - since > MAX_WAIT_MS;
    for (const { reject } of batch.filter(isLate)) reject(overloaded());
    const inTime = batch.filter((waiting) => !isLate(waiting));
    if (inTime.length === 0) return;
    try {
      const calls = inTime.map(({ call }) => call);
      const outcomes = await this.#options.runTogether(systemId, calls, onCommitting);
      for (const [index, waiting] of inTime.entries()) this.#finish(waiting, outcomes[index] ?? "run-alone");
    } catch (error) {
      for (const waiting of inTime)
        this.#finish(waiting, this.#mayRunAlone(error, waiting.call) ? "run-alone" : { error });
    }
  }

  /**
   * Tells whether a call of a failed transaction may run again in its own transaction. Not if the database is unavailable,
   * because single calls would fail too. After a commit without an answer it is unknown whether the call took effect: only a
   * call with an `Idempotency-Key` may run again, and the callers of the others must decide themselves.
   */
  #mayRunAlone(error: unknown, call: Call): boolean {
    if (error instanceof CommitOutcomeUnknown) return this.#options.isRepeatable(call);
    return !isUnavailable(error);
  }

  #finish(waiting: Waiting<Call, Result>, outcome: CallOutcome<Result>): void {
    if (outcome === "run-alone") this.#addAlone(waiting);
    else if ("result" in outcome) waiting.resolve(outcome.result);
    else waiting.reject(outcome.error);
  }

  #addAlone(waiting: Waiting<Call, Result>): void {
    this.#alone.add(waiting.call.owner, waiting);
    if (this.#servingAlone < ALONE_CONCURRENCY) this.#serveAlone().catch(waiting.reject);
  }

  async #serveAlone(): Promise<void> {
    this.#servingAlone++;
    while (!this.#alone.isEmpty) {
      // Takes one call: each weighs 1, and the limit is 1.
      for (const { call, resolve, reject } of this.#alone.take(1, () => 1)) {
        await this.#options.runAlone(call).then(resolve, reject);
      }
    }
    this.#servingAlone--;
  }
}

/** Seconds before a caller whose call was refused should try again. */
const RETRY_SECONDS = 1;

function overloaded(): Error {
  return serviceError("unavailable", "commands", { retryAfterSeconds: RETRY_SECONDS });
}

/** A request that its sender may repeat. */
export interface RepeatableRequest {
  readonly systemId: string;
  /** The partner's id, or `operator`. */
  readonly caller: string;
  /** The id of the API key that the request was made with. */
  readonly keyId: string;
  /** The path without its query, in one normal spelling (`pathOf`). */
  readonly path: string;
  /** The header `Idempotency-Key`; undefined when there is none. */
  readonly key: string | undefined;
  /** The JSON value sent; undefined when there was no body. */
  readonly body: unknown;
}

/** Reads the properties of a request by which a repetition is recognized. */
export function repeatableRequest(request: FastifyRequest): RepeatableRequest {
  const { key } = callerOf(request);
  const header = request.headers["idempotency-key"];
  return {
    systemId: key.system_id,
    caller: key.partner_id ?? "operator",
    keyId: key.id,
    path: pathOf(request),
    key: Array.isArray(header) ? header.join(", ") : header,
    body: request.body,
  };
}

/**
 * Returns the path in its normal spelling: `/v1/reservations` for `/v1/%72eservations` and `http://host/v1/reservations`. A
 * proxy that repeats a request may spell its path differently.
 */
function pathOf({ routeOptions: { url: route = "" }, params }: FastifyRequest): string {
  let path = route;
  for (const [name, value] of Object.entries(params as Readonly<Record<string, string>>)) {
    // A function, because `$` would have a meaning in a replacement text.
    path = path.replace(`:${name}`, () => encodeURIComponent(value));
  }
  return path;
}

/**
 * Runs a request's work in one transaction. With an `Idempotency-Key`, runs it only once however often the request is
 * repeated, and returns the first answer again.
 * @throws ServiceError `invalid_parameter` when the key is malformed; `idempotency_in_progress` or
 * `idempotency_key_reused`; any error of `work`, after which nothing was changed
 */
export async function withIdempotency(
  context: IdempotencyContext,
  request: RepeatableRequest,
  work: Work,
): Promise<RepeatableAnswer> {
  const name = nameOf(request);
  if (name === undefined) return { ...(await context.db.transaction(work)), replayed: false };
  const attempt = () => doOnce(context, name, hashOf(request.body), work);
  return waitWhileRunning(context, attempt(), attempt);
}

/**
 * Returns the name by which a repetition of a request is recognized; undefined: it has no `Idempotency-Key`.
 * @throws ServiceError `invalid_parameter` when the key is malformed
 */
function nameOf({ systemId, caller, path, key: header }: RepeatableRequest): CallName | undefined {
  if (header === undefined) return undefined;
  const key = idempotencyKey.safeParse(header);
  if (key.success) return { systemId, caller, path, key: key.data };
  throw serviceError("invalid_parameter", "issues", {
    issues: `Idempotency-Key ${key.error.issues.map(({ message }) => message).join(", ")}`,
  });
}

/** A verb whose calls share transactions. */
interface CombinedVerb<Input> {
  /** Runs requests of one system in the given transaction. Each succeeds or is rejected separately. */
  readonly together: (systemId: string, ...rest: Parameters<CombinedWork<Input>>) => ReturnType<CombinedWork<Input>>;
  /** Runs one request. */
  readonly alone: (systemId: string, input: Input, ...rest: Parameters<Work>) => Promise<Answer>;
}

/** A call as `CommandCombiner` gathers it, with what `doOnce` needs to recognize a repetition. */
type InputCall<Input> = CombinableCall & RepeatableCall<Input>;

/**
 * Like `withIdempotency`, for requests of one verb that share transactions
 * (docs/decisions/city.md#requests-that-share-a-transaction).
 * @returns a function that runs a request; its `items` is the number of the request's items
 */
export function combineRequests<Input>(context: IdempotencyContext, verb: CombinedVerb<Input>) {
  const runAlone = ({ systemId, name, bodyHash, input }: InputCall<Input>): Promise<RepeatableAnswer> => {
    const work = (tx: Parameters<Work>[0]) => verb.alone(systemId, input, tx);
    return name === undefined
      ? context.db.transaction(async (tx) => ({ ...(await work(tx)), replayed: false }))
      : doOnce(context, name, bodyHash, work);
  };
  const combiner = new CommandCombiner<InputCall<Input>, RepeatableAnswer>({
    runTogether: (systemId, calls, onCommitting) =>
      doOnceTogether(context, systemId, calls, (...work) => verb.together(systemId, ...work), onCommitting),
    isRepeatable: ({ name }) => name !== undefined,
    runAlone,
  });
  return async (request: RepeatableRequest, input: Input, items = 1): Promise<RepeatableAnswer> => {
    const { systemId, keyId: owner, body } = request;
    const name = nameOf(request);
    // Without a name nothing is compared with the hash, so none is computed.
    const bodyHash = name === undefined ? new Uint8Array() : hashOf(body);
    const call = { systemId, owner, items, name, bodyHash, input };
    // The wait for an earlier request with the same key is outside the shared transaction, so it delays no other request.
    return waitWhileRunning(context, combiner.run(call), () => runAlone(call));
  };
}

/**
 * The part of a reply that is needed here. Used instead of Fastify's own type, because ts-rest's handlers get the type of
 * an older Fastify version.
 */
interface HeaderWriter {
  header(name: string, value: string): unknown;
}

/** Marks a reply by a header if it repeats an earlier answer. */
export function markReplay(reply: HeaderWriter, { replayed }: RepeatableAnswer): void {
  if (replayed) reply.header("idempotent-replayed", "true");
}
