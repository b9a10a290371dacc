import type { SignInNotice } from "@bikeshare/contract/console";
import { ServiceError } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import type { ConsoleRoutes } from "./answers.ts";
import { type ConsoleRequest, consoleSession } from "./authorize.ts";
import { addressOf, beginIn, type Exchange, showSession } from "./browser-session.ts";
import type { ConsoleContext } from "./context.ts";
import {
  acceptAtProvider,
  ATTEMPT_TIMEOUT_SECONDS,
  beginAttempt,
  confirmAtProvider,
  connectIdentity,
  identify,
  type ProviderAttempt,
  type ProviderProof,
  type ProviderPurpose,
  type ProviderSignIn,
  ProviderSignInError,
  readAttempt,
  requireProvider,
  signInAtProvider,
} from "./people/identities.ts";
import { mailRemoved } from "./people/mails.ts";
import { namedBaseUrl } from "./people/people.rules.ts";
import { attemptToken, clearAttemptCookie, setAttemptCookie } from "./session-cookie.ts";
import { confirmSession } from "./sessions/service.ts";

/*
 * Routes of signing in at the operator's identity provider. A route of the page begins an attempt and returns the provider's
 * address; the provider sends the browser back to `finishAtProvider`, which acts for the purpose of the attempt.
 */

/** The routes that send a browser to the identity provider, and the route to which the provider sends it back. */
interface ProviderRoutes {
  readonly signIn: Pick<ConsoleRoutes["signIn"], "beginAtProvider" | "finishAtProvider">;
  readonly account: Pick<ConsoleRoutes["account"], "connectIdentity">;
  readonly session: Pick<ConsoleRoutes["session"], "confirmAtProvider">;
}

export function providerRoutes(context: ConsoleContext): ProviderRoutes {
  const begin = async (exchange: Exchange, purpose: ProviderPurpose, next: string) => ({
    status: 200 as const,
    body: { url: await beginInBrowser(context, exchange, purpose, next) },
  });
  return {
    signIn: {
      beginAtProvider: ({ request, reply, body: { next = "/", invitation_token: token } }) =>
        begin({ request, reply }, token === undefined ? { kind: "sign_in" } : { kind: "invitation", token }, next),
      finishAtProvider: async ({ request, reply }) => {
        requireProvider(context);
        reply.header("location", dashboardAddress(context, await finishInBrowser(context, { request, reply })));
        return { status: 303, body: {} };
      },
    },
    account: {
      connectIdentity: ({ request, reply }) =>
        begin({ request, reply }, { kind: "connect", ...ownerOf(request) }, "/account"),
    },
    session: {
      confirmAtProvider: ({ request, reply, body }) =>
        begin({ request, reply }, { kind: "confirm", ...ownerOf(request) }, body.next),
    },
  };
}

function ownerOf(request: ConsoleRequest) {
  const { person_id: personId, id: sessionId } = consoleSession(request);
  return { personId, sessionId };
}

function dashboardAddress({ baseUrl }: ConsoleContext, page: string): string {
  return `${namedBaseUrl(baseUrl())}/dashboard${page}`;
}

/**
 * Begins an attempt, and gives the browser its cookie.
 * @returns the address to which the browser is redirected: the provider's, or the page that reports that the provider
 * cannot be reached
 */
async function beginInBrowser(
  context: ConsoleContext,
  { request, reply }: Exchange,
  purpose: ProviderPurpose,
  next: string,
): Promise<string> {
  requireProvider(context);
  try {
    const { url, token } = await beginAttempt(context, purpose, next);
    setAttemptCookie(request, reply, token, ATTEMPT_TIMEOUT_SECONDS);
    return url;
  } catch (error) {
    return dashboardAddress(context, withNotice(pageOf(purpose), noticeOf(context, error)));
  }
}

/** Ends the attempt of a browser that comes back. @returns the page that the browser goes on to */
async function finishInBrowser(context: ConsoleContext, exchange: Exchange): Promise<string> {
  const { request, reply } = exchange;
  const { searchParams: query } = new URL(request.url, "http://localhost");
  // Shows a failure on the page of signing in, until the purpose of the attempt is known.
  let page = pageOf({ kind: "sign_in" });
  try {
    const { attempt, challenge } = readAttempt(context, attemptToken(request), query);
    clearAttemptCookie(request, reply);
    page = pageOf(attempt.purpose);
    requireSameSession(request, attempt.purpose);
    await context.signInLimits.countReturn(addressOf(request));
    const identity = await identify(context, attempt, query);
    return await finishAttempt(context, exchange, attempt, { identity, challenge });
  } catch (error) {
    // Counts only failures, so that an office whose people all sign in uses up no attempts.
    await context.signInLimits.countFailedReturn(addressOf(request));
    return withNotice(page, noticeOf(context, error));
  }
}

/** Requires that an attempt which began in a session ends in the same session. */
function requireSameSession({ consoleSession: session }: FastifyRequest, purpose: ProviderPurpose): void {
  if ("sessionId" in purpose && session?.id !== purpose.sessionId) throw new ProviderSignInError("expired");
}

/** Does what the attempt was begun for. @returns the page that the browser goes on to */
async function finishAttempt(
  context: ConsoleContext,
  exchange: Exchange,
  { purpose, next, begunAt }: ProviderAttempt,
  proof: ProviderProof,
): Promise<string> {
  const begin = beginIn(context, exchange);
  if (purpose.kind === "connect") {
    const { session, ...connected } = await connectIdentity(context, proof, purpose, begin);
    if (session !== undefined) await showSession(context, exchange, session);
    return afterSignIn(context, connected, next);
  }
  if (purpose.kind === "confirm") {
    await confirmAtProvider(context, proof, { personId: purpose.personId, since: begunAt });
    const token = await confirmSession(context, purpose.sessionId);
    if (token === undefined) throw new ProviderSignInError("expired");
    await showSession(context, exchange, token);
    return next;
  }
  const signedIn =
    purpose.kind === "invitation"
      ? await acceptAtProvider(context, proof, purpose.token, begin)
      : await signInAtProvider(context, proof, begin);
  await showSession(context, exchange, signedIn.session);
  return afterSignIn(context, signedIn, next);
}

/**
 * Returns the page to show after a sign-in or a new connection. If this removed earlier credentials of the account
 * (`takeOver`), mails the person, and returns the account's page with a notice.
 */
function afterSignIn(
  context: ConsoleContext,
  { person, removed }: Pick<ProviderSignIn, "person" | "removed">,
  next: string,
): string {
  if (removed === undefined) return next;
  mailRemoved(context, person, requireProvider(context).name);
  return withNotice("/account", "credentials_removed");
}

/** Returns the page that shows the failure of an attempt. */
function pageOf({ kind }: ProviderPurpose): string {
  if (kind === "sign_in") return "/sign-in";
  return kind === "invitation" ? "/invitation" : "/account";
}

function withNotice(page: string, notice: SignInNotice): string {
  return `${page}?notice=${notice}`;
}

/** Returns the notice about a failure. @throws the error when there is no notice for it */
function noticeOf({ logger }: ConsoleContext, error: unknown): SignInNotice {
  if (error instanceof ProviderSignInError) {
    const { notice, message: reason } = error;
    if (notice === "provider_refused" || notice === "provider_unavailable")
      logger.warn({ reason }, "nobody could be signed in at the identity provider");
    return notice;
  }
  const known: Readonly<Record<string, SignInNotice>> = {
    invalid_parameter: "expired",
    not_found: "invitation_over",
    rate_limited: "rate_limited",
    // The session in which the attempt began has ended.
    unauthorized: "expired",
  };
  const notice = error instanceof ServiceError ? known[error.code] : undefined;
  if (notice === undefined) throw error;
  return notice;
}
