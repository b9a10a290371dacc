import { idempotencyKey } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import { type Answer, doOnce, type IdempotencyContext, type Work } from "../idempotency/service.ts";
import { callerOf } from "./authenticate.ts";

/** A request that its sender may repeat. */
export interface RepeatableRequest {
  readonly systemId: string;
  /** The partner's id, or `operator`. */
  readonly caller: string;
  /** The path called, without its query. */
  readonly path: string;
  /** The header `Idempotency-Key`; undefined when there is none. */
  readonly key: string | undefined;
  /** The JSON value sent; undefined when there was no body. */
  readonly body: unknown;
}

/** What a request is answered, and whether an earlier one had that answer already. */
export interface RepeatableAnswer extends Answer {
  readonly replayed: boolean;
}

/** Reads from a request what makes two of them the same. */
export function repeatableRequest(request: FastifyRequest): RepeatableRequest {
  const { key } = callerOf(request);
  const header = request.headers["idempotency-key"];
  const [path = request.url] = request.url.split("?");
  return {
    systemId: key.system_id,
    caller: key.partner_id ?? "operator",
    path,
    key: Array.isArray(header) ? header.join(", ") : header,
    body: request.body,
  };
}

/**
 * Does what a request asks for in one transaction; with an `Idempotency-Key` once, however often the request comes.
 * @throws ServiceError `invalid_parameter` when the key is malformed; `idempotency_in_progress` or
 *   `idempotency_key_reused`; whatever `work` throws, after which nothing was changed
 */
export async function withIdempotency(
  context: IdempotencyContext,
  request: RepeatableRequest,
  work: Work,
): Promise<RepeatableAnswer> {
  if (request.key === undefined) return { ...(await context.db.transaction(work)), replayed: false };
  const key = idempotencyKey.safeParse(request.key);
  if (!key.success) {
    throw serviceError("invalid_parameter", "issues", {
      issues: `Idempotency-Key ${key.error.issues.map(({ message }) => message).join(", ")}`,
    });
  }
  return doOnce(context, { ...request, key: key.data }, request.body, work);
}

/** What of a reply is needed here; Fastify's own type differs between its versions, and ts-rest hands over the older. */
interface HeaderWriter {
  header(name: string, value: string): unknown;
}

/** Says in a reply's headers whether its answer is an earlier one's. */
export function markReplay(reply: HeaderWriter, { replayed }: RepeatableAnswer): void {
  if (replayed) reply.header("idempotent-replayed", "true");
}
