import { RATE_WINDOW_SECONDS } from "@bikeshare/contract";
import { type RateDecision, rateHeaders, type RateLimiter } from "@bikeshare/rules";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type ServiceError, serviceError } from "../errors/service-error.ts";
import { effectiveRateLimit } from "../keys/key.ts";
import type { LastUses } from "../keys/last-use.ts";
import type { KeyRow } from "../keys/service.ts";
import { authenticate, type AuthenticateOptions } from "./authenticate.ts";
import { answersPlainHttp, scopeOf } from "./caller.ts";
import { countedAddress } from "./client-address.ts";
import { type ExposedKeysOptions, keysIn, keysInUrl, markExposedKeys } from "./exposed-keys.ts";
import type { PublicLimit } from "./public-limit.ts";
import { checkAddressing } from "./request-form.ts";
import type { Transport } from "./transport.ts";

export interface AdmitOptions extends AuthenticateOptions {
  readonly transport: (request: FastifyRequest["raw"]) => Transport;
  readonly limiter: RateLimiter;
  readonly publicLimit: PublicLimit;
  /** Requests in any 60 s for keys without a number of their own. */
  readonly rateLimit: number;
  readonly lastUses: LastUses;
  /** What is done with keys that others may have read. */
  readonly exposed: ExposedKeysOptions;
}

/**
 * The door that every request passes, in this order: transport, key, scope, rate. A request that a step refuses
 * never reaches the next; a refused key or scope does not use up the budget.
 */
export function admitRequests(app: FastifyInstance, options: AdmitOptions): void {
  app.decorateRequest("transport");
  app.decorateRequest("caller");
  countLargeAnswers(app, options.publicLimit);
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("request-id", request.id);
    try {
      const admitted = admit(request, reply, options);
      if (admitted === undefined) done();
      // A hook that may be done at once speaks by callback; the promise of the slow way ends there too.
      // oxlint-disable-next-line promise/no-callback-in-promise
      else admitted.then(() => done(), done);
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

/** Counts what goes to callers without a key, by its size: it is nobody's budget else. */
function countLargeAnswers(app: FastifyInstance, publicLimit: PublicLimit): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const { caller, transport, method } = request;
    if (caller === undefined && transport !== undefined && method !== "HEAD") {
      const bytes = Buffer.isBuffer(payload) ? payload.length : Number(reply.getHeader("content-length") ?? 0);
      publicLimit.countAnswer(transport.address, bytes);
    }
    done(null, payload);
  });
}

/** Admits a request at once where all that must be known is at hand: no promise is made on the hot path. */
function admit(request: FastifyRequest, reply: FastifyReply, options: AdmitOptions): Promise<void> | undefined {
  checkAddressing(request.raw);
  const transport = options.transport(request.raw);
  request.transport = transport;
  const inUrl = keysInUrl(request.originalUrl);
  const inPlain = transport.secure ? [] : keysIn(request.headers.authorization ?? "");
  if (inUrl.length > 0 || inPlain.length > 0) return refuseExposedKeys(inUrl, inPlain, transport, options);
  if (!transport.secure && !answersPlainHttp(request)) throw httpsRequired(transport, options);
  const scope = scopeOf(request);
  if (scope === "none") {
    // Probes must not be kept out by what others ask for; what they ask costs next to nothing.
    return answersPlainHttp(request) ? undefined : options.publicLimit.count(transport.address);
  }
  const key = authenticate(request, options);
  return key instanceof Promise ? key.then((found) => admitKey(found)) : admitKey(key);

  function admitKey(found: KeyRow): Promise<void> | undefined {
    const limit = effectiveRateLimit(found, options.rateLimit);
    const missingScope = scopeError(found, scope);
    const decision =
      missingScope === undefined ? options.limiter.take(found.id, limit) : options.limiter.peek(found.id, limit);
    return decision instanceof Promise ? decision.then(finish) : finish(decision);

    function finish(rate: RateDecision): undefined {
      reply.headers(rateHeaders(rate));
      request.caller = { key: found, rate };
      const who = { keyId: found.id, address: transport.address };
      if (missingScope !== undefined) {
        options.refusals.refused("insufficient_scope", who);
        throw missingScope;
      }
      if (!rate.allowed) {
        options.refusals.refused("rate_limited", who);
        throw rateLimited(rate);
      }
      options.lastUses.note({
        systemId: found.system_id,
        id: found.id,
        at: new Date(options.clock()),
        // Of a path that is none, nothing is kept that a caller may have put there: it might be a secret, and it has no bound.
        path: request.routeOptions.url ?? "(no such path)",
        address: transport.address,
      });
    }
  }
}

async function refuseExposedKeys(
  inUrl: readonly string[],
  inPlain: readonly string[],
  transport: Transport,
  options: AdmitOptions,
): Promise<never> {
  if (inPlain.length > 0) {
    await markExposedKeys(inPlain, "plain_http", transport.address, options.exposed);
    throw httpsRequired(transport, options);
  }
  await markExposedKeys(inUrl, "url", transport.address, options.exposed);
  options.refusals.refused("key_in_url", { address: countedAddress(transport.address) });
  throw serviceError("invalid_parameter", "keyInUrl");
}

function httpsRequired({ address }: Transport, { refusals }: AdmitOptions): ServiceError {
  refusals.refused("https_required", { address: countedAddress(address) });
  return serviceError("https_required");
}

function scopeError(key: KeyRow, scope: string): ServiceError | undefined {
  const isOperator = key.partner_id === null;
  if (isOperator && scope !== "operator") {
    return serviceError(
      "forbidden",
      "operatorKey",
      {},
      {
        headers: { "www-authenticate": `Bearer error="insufficient_scope"` },
      },
    );
  }
  if (isOperator || scope === "any" || key.scopes.includes(scope)) return undefined;
  return serviceError(
    "forbidden",
    "missingScope",
    { scope },
    {
      headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` },
    },
  );
}

function rateLimited({ limit, resetSeconds }: RateDecision): ServiceError {
  const values = { limit, windowSeconds: RATE_WINDOW_SECONDS, retryAfterSeconds: resetSeconds };
  return serviceError("rate_limited", "key", values);
}
