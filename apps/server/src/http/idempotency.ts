import { idempotencyKey } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import { callerOf } from "./authenticate.ts";
import { type CombinableCall, CommandCombiner } from "./command-combiner.ts";
import {
  type Answer,
  type CallName,
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

/** A request that its sender may repeat. */
export interface RepeatableRequest {
  readonly systemId: string;
  /** The partner's id, or `operator`. */
  readonly caller: string;
  /** The id of the key it was made with. */
  readonly keyId: string;
  /** The path called, without its query, in the one spelling of all that lead to its route. */
  readonly path: string;
  /** The header `Idempotency-Key`; undefined when there is none. */
  readonly key: string | undefined;
  /** The JSON value sent; undefined when there was no body. */
  readonly body: unknown;
}

/** Reads the properties that identify a repeated request. */
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

/** `/v1/%72eservations` and `http://host/v1/reservations` are `/v1/reservations`: a proxy may repeat a request as another. */
function pathOf({ routeOptions: { url: route = "" }, params }: FastifyRequest): string {
  const values = Object.entries(params as Readonly<Record<string, string>>);
  return values.reduce((path, [name, value]) => path.replace(`:${name}`, () => encodeURIComponent(value)), route);
}

/**
 * Runs a request's work in one transaction; with an `Idempotency-Key` once, however often the request is repeated.
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

/** @throws ServiceError `invalid_parameter` when the key is malformed */
function nameOf({ systemId, caller, path, key: header }: RepeatableRequest): CallName | undefined {
  if (header === undefined) return undefined;
  const key = idempotencyKey.safeParse(header);
  if (key.success) return { systemId, caller, path, key: key.data };
  throw serviceError("invalid_parameter", "issues", {
    issues: `Idempotency-Key ${key.error.issues.map(({ message }) => message).join(", ")}`,
  });
}

/** A verb whose calls share transactions. */
export interface CombinedVerb<Input> {
  /** Runs requests of a system in the given transaction. Each succeeds or is rejected separately. */
  readonly together: (systemId: string, ...rest: Parameters<CombinedWork<Input>>) => ReturnType<CombinedWork<Input>>;
  /** Runs one request. */
  readonly alone: (systemId: string, input: Input, ...rest: Parameters<Work>) => Promise<Answer>;
}

type Call<Input> = CombinableCall & RepeatableCall<Input>;

/**
 * Like `withIdempotency`, for requests of one verb that share transactions
 * (docs/decisions/city.md#requests-that-share-a-transaction).
 * @returns a function that runs a request.
 * @param items the number of a request's items
 */
export function combineRequests<Input>(context: IdempotencyContext, verb: CombinedVerb<Input>) {
  const runAlone = ({ systemId, name, bodyHash, input }: Call<Input>): Promise<RepeatableAnswer> => {
    const work = (tx: Parameters<Work>[0]) => verb.alone(systemId, input, tx);
    return name === undefined
      ? context.db.transaction(async (tx) => ({ ...(await work(tx)), replayed: false }))
      : doOnce(context, name, bodyHash, work);
  };
  const combiner = new CommandCombiner<Call<Input>, RepeatableAnswer>({
    runTogether: (systemId, calls, onCommitting) =>
      doOnceTogether(context, systemId, calls, (...work) => verb.together(systemId, ...work), onCommitting),
    isRepeatable: ({ name }) => name !== undefined,
    runAlone,
  });
  return async (request: RepeatableRequest, input: Input, items = 1): Promise<RepeatableAnswer> => {
    const { systemId, keyId: owner, body } = request;
    const name = nameOf(request);
    const bodyHash = name === undefined ? new Uint8Array() : hashOf(body);
    const call = { systemId, owner, items, name, bodyHash, input };
    // The others of its transaction, and those that run alone, do not wait with it.
    return waitWhileRunning(context, combiner.run(call), () => runAlone(call));
  };
}

/**
 * The part of a reply that is needed here. Fastify's own type differs between its versions, and ts-rest hands over the
 * older.
 */
interface HeaderWriter {
  header(name: string, value: string): unknown;
}

/** Says in a reply's headers whether its answer is an earlier one's. */
export function markReplay(reply: HeaderWriter, { replayed }: RepeatableAnswer): void {
  if (replayed) reply.header("idempotent-replayed", "true");
}
