import { type ConsoleNeeds, RATE_WINDOW_SECONDS } from "@bikeshare/contract";
import type { MembershipRole } from "@bikeshare/contract/console";
import { serviceError, type ServiceError } from "@bikeshare/rules";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { CommandContext } from "../command-context.ts";
import { consoleNeedsOf } from "../http/authenticate.ts";
import type { RateLimits } from "../http/rate-limits/rate-limits.ts";
import { hasDone, insertActOf } from "../partners/audit/queries.ts";
import { partnerWithId } from "../partners/service.ts";
import { lockPerson } from "./people/queries.ts";
import { bringsSession, createSessionFinder, type FoundSession, frameToken, sessionToken } from "./session-cookie.ts";
import { type MembershipRow, noteUse } from "./sessions/service.ts";
import { CONFIRMATION_MINUTES, confirmedUntil, isCsrfToken, isLastUseDue } from "./sessions/session.rules.ts";

/*
 * Decides whether a request to the console (the API of the dashboard's pages) is handled: by its origin, session, rate and
 * the caller's role. The contract says for each endpoint what it needs, such as its audience: `public`, `person` (somebody
 * signed in, for their own account), `partner` or `operator`. An embedded session is one in a frame
 * (session-cookie.ts).
 */

/** The caller of an endpoint of a system's pages. */
export interface ConsoleCaller {
  readonly person: { readonly id: string; readonly email: string; readonly name: string };
  readonly systemId: string;
  /** The partner whose page it is; null: the operator's. */
  readonly partnerId: string | null;
  readonly role: MembershipRole;
  /**
   * The actor in the audit log: `person:` and the person's id; in a frame, `embedded:` and the portal's name for the
   * viewer.
   */
  readonly actor: string;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The session that a request to the console brings; undefined: none. */
    consoleSession: FoundSession | undefined;
    /** Set on endpoints of a system's pages. */
    consoleCaller: ConsoleCaller | undefined;
  }
}

/** The properties of a request that identify the caller of a console endpoint. */
export type ConsoleRequest = Pick<FastifyRequest, "consoleSession" | "consoleCaller" | "url">;

/** Returns the caller of an endpoint of the audience `partner` or `operator`. */
export function consoleCaller(request: ConsoleRequest): ConsoleCaller {
  if (request.consoleCaller === undefined) throw new Error(`${request.url} was reached without a membership`);
  return request.consoleCaller;
}

/** Returns the caller of an endpoint of the audience `partner`. */
export function partnerCaller(request: ConsoleRequest): ConsoleCaller & { readonly partnerId: string } {
  const caller = consoleCaller(request);
  if (caller.partnerId === null) throw new Error(`${request.url} is not a partner's page`);
  return { ...caller, partnerId: caller.partnerId };
}

/** Returns the session of an endpoint that asks for one. */
export function consoleSession(request: ConsoleRequest): FoundSession {
  if (request.consoleSession === undefined) throw new Error(`${request.url} was reached without a session`);
  return request.consoleSession;
}

export interface ConsoleAuthorizeOptions extends CommandContext {
  readonly baseUrl: () => string;
  readonly rateLimits: RateLimits;
  /** Counts a request without a session by its address. */
  readonly countPublic: (address: string) => Promise<void> | undefined;
}

/** Decides whether a request to the console is handled, from the contract's metadata of its endpoint. */
export interface ConsoleAuthorizer {
  authorize(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Removes expired counts. */
  sweep(): void;
}

/**
 * Creates the authorizer. It checks, in this order: the page's origin, the session and its rate, the CSRF token, the role,
 * and whether the endpoint may be called in a frame and without a confirmation.
 */
export function createConsoleAuthorizer(options: ConsoleAuthorizeOptions): ConsoleAuthorizer {
  const { db, clock } = options;
  const rate = createSessionRate(options.rateLimits, clock);
  const findSession = createSessionFinder(db, clock);
  return {
    sweep: () => rate.sweep(),
    async authorize(request, reply) {
      // The response must not stay in the cache of a browser that somebody else uses next.
      reply.header("cache-control", "no-store");
      const needs = consoleNeedsOf(request);
      const address = request.transport?.address ?? "";
      requireOwnOrigin(request, options.baseUrl());
      rate.refuseFlood(request);
      const session = await findSession(request, needs);
      if (session === undefined) {
        await options.countPublic(address);
        if (needs.audience === "public") return;
        throw serviceError("unauthorized", bringsSession(request) ? "endedSession" : "noSession");
      }
      request.consoleSession = session;
      await rate.count(session, needs.cost ?? (changesSomething(request) ? CHANGE_COST : 1));
      if (needs.audience === "public") return;
      if (changesSomething(request) && !isCsrfToken(String(request.headers["x-csrf-token"] ?? ""), session.token))
        throw serviceError("forbidden", "csrfToken");
      if (isLastUseDue(session, clock())) await noteUse(db, session.id, new Date(clock()), address);
      if (needs.audience !== "person") request.consoleCaller = await enter(request, needs, session, options);
      if (session.isEmbedded && !needs.embedded) throw serviceError("forbidden", "embedded");
      if (needs.confirmed === true) requireConfirmed(session, clock());
    },
  };
}

/**
 * @throws ServiceError unless the caller has signed in or confirmed their identity within the last `CONFIRMATION_MINUTES`,
 * which is impossible in a frame
 */
export function requireConfirmed(session: FoundSession, now: number): void {
  if (session.isEmbedded) throw serviceError("forbidden", "embedded");
  if (confirmedUntil(session).getTime() <= now)
    throw serviceError("confirmation_required", "missing", { minutes: CONFIRMATION_MINUTES });
}

function changesSomething({ method }: FastifyRequest): boolean {
  return method !== "GET" && method !== "HEAD";
}

/**
 * Rejects a request that changes something and was not sent by one of our pages. Browsers set `Sec-Fetch-Site` and `Origin`
 * themselves, and pages cannot. At least one header must be present, and each that is present must be right.
 */
function requireOwnOrigin(request: FastifyRequest, baseUrl: string): void {
  if (!changesSomething(request)) return;
  const { origin, host, "sec-fetch-site": site } = request.headers;
  const ownOrigin = URL.parse(baseUrl)?.origin ?? "";
  // The browser may know the service by another name than that of `baseUrl`: then the page's host is the request's `Host`.
  const isOriginRight = origin === undefined || origin === ownOrigin || URL.parse(origin)?.host === host;
  const isSiteRight = site === undefined || site === "same-origin";
  const hasHeader = origin !== undefined || site !== undefined;
  if (!hasHeader || !isOriginRight || !isSiteRight)
    throw serviceError("forbidden", "foreignOrigin", { origin: ownOrigin });
}

/** Returns the caller of a system's page. @throws ServiceError when they have no access */
async function enter(
  request: FastifyRequest,
  { audience, role }: ConsoleNeeds,
  session: FoundSession,
  context: CommandContext,
): Promise<ConsoleCaller> {
  const { system_id: systemId, partner_id } = request.params as Readonly<Record<string, string | undefined>>;
  const partnerId = audience === "partner" ? partner_id : null;
  if (systemId === undefined || partnerId === undefined)
    throw new Error(`the path of ${request.url} does not say whose page it is`);
  // The operator's people may read every partner's pages, as viewers: `own` is the membership that the page is for,
  // `operators` the one that lets a person of the operator read it.
  const inSystem = session.memberships.filter((membership) => membership.system_id === systemId);
  const own = inSystem.find((membership) => membership.partner_id === partnerId);
  const operators = inSystem.find((membership) => membership.partner_id === null);
  if (own === undefined && operators === undefined) throw serviceError("not_found", "page");
  if (own !== undefined) requireRole(own, role);
  else if (role === "admin") throw serviceError("forbidden", "operatorReads");
  const person = { id: session.person_id, email: session.email, name: session.name };
  const actor = session.isEmbedded ? `embedded:${person.name}` : `person:${person.id}`;
  const caller = { person, systemId, partnerId, role: own?.role ?? "viewer", actor } as const;
  if (own === undefined && partnerId !== null) await noteOperatorsVisit(caller, partnerId, context);
  return caller;
}

function requireRole(membership: MembershipRow, role: MembershipRole): void {
  if (role === "viewer") return;
  if (membership.role !== "admin") throw serviceError("forbidden", "viewer");
  if (membership.partner_suspended) throw serviceError("forbidden", "suspendedPartner");
}

/** Milliseconds in which visits of one person to one partner's pages are one entry of the audit log. */
const VISIT_INTERVAL_MS = 3_600_000;

/**
 * Records in the audit log that a person of the operator reads a partner's pages. The partner sees the entry.
 * @throws ServiceError `not_found` when there is no such partner
 */
async function noteOperatorsVisit(
  { systemId, person, actor }: ConsoleCaller,
  partnerId: string,
  context: CommandContext,
): Promise<void> {
  if ((await partnerWithId(context, systemId, partnerId)) === undefined) throw serviceError("not_found", "page");
  const act = { systemId, actor, action: "console.partner_viewed", subject: partnerId, detail: {} };
  const since = new Date(context.clock() - VISIT_INTERVAL_MS);
  if (await hasDone(context.db, act, since)) return;
  await context.db.transaction(async (tx) => {
    // A page sends several requests at once. Without the lock, each of them would write an entry.
    await lockPerson(tx, person.id);
    if (!(await hasDone(tx, act, since))) await insertActOf({ ...context, actor }, tx, act);
  });
}

/** The rate limits of people's requests in their sessions. */
interface SessionRate {
  /**
   * Rejects a request of a session that has just used up its rate, without looking the session up.
   * @throws ServiceError `rate_limited`
   */
  refuseFlood(request: Pick<FastifyRequest, "raw">): void;
  /**
   * Counts a request, or `cost` requests if it costs more. If fewer than `cost` are left, counts none.
   * @throws ServiceError `rate_limited`
   */
  count(session: Pick<FoundSession, "person_id" | "token">, cost: number): Promise<void>;
  /** Removes expired counts. */
  sweep(): void;
}

/**
 * Requests in any 60 s of one person in all sessions together, or of one frame: ten pages with a request a second. Too
 * low: refuses people with many open tabs. Too high: permits more to a program with a stolen cookie.
 */
const SESSION_RATE_LIMIT = 600;
/** As how many requests a change counts. It costs more because its entry in the audit log is kept. */
const CHANGE_COST = 5;
/**
 * Milliseconds after a rejection during which the session's requests are rejected without a look-up. Short, because the
 * session may have requests left again, or may have ended.
 */
const FLOOD_MS = 1_000;

function createSessionRate(rateLimits: RateLimits, clock: () => number): SessionRate {
  const limiter = rateLimits.limiter("session");
  // The limit is the person's. Rejections are kept by the token, which is known before the session is looked up.
  const exhausted = new Map<string, { readonly at: number; readonly error: ServiceError }>();
  // `Math.abs`, because the clock may be set back: a rejection from the future must not last.
  const isRecent = (at: number) => Math.abs(clock() - at) < FLOOD_MS;
  return {
    refuseFlood(request) {
      const refused = exhausted.get(sessionToken(request) ?? frameToken(request) ?? "");
      if (refused !== undefined && isRecent(refused.at)) throw refused.error;
    },
    async count({ person_id: id, token }, cost) {
      if (cost > 1) {
        // This rejection is not remembered in `exhausted`: the requests that are left suffice for cheaper ones.
        const { remaining, resetSeconds } = await limiter.peek(id, SESSION_RATE_LIMIT);
        if (remaining < cost) throw tooManyRequests(resetSeconds);
      }
      for (let counted = 0; counted < cost; counted++) {
        const { allowed, resetSeconds } = await limiter.take(id, SESSION_RATE_LIMIT);
        if (allowed) continue;
        const error = tooManyRequests(resetSeconds);
        exhausted.set(token, { at: clock(), error });
        throw error;
      }
    },
    sweep() {
      limiter.sweep();
      for (const [token, { at }] of exhausted) if (!isRecent(at)) exhausted.delete(token);
    },
  };
}

function tooManyRequests(retryAfterSeconds: number): ServiceError {
  const values = { limit: SESSION_RATE_LIMIT, windowSeconds: RATE_WINDOW_SECONDS, retryAfterSeconds };
  return serviceError("rate_limited", "session", values);
}
