import type { SignInNotice } from "@bikeshare/contract/console";
import { ServiceError, serviceError } from "@bikeshare/rules";
import { ProviderUnavailable } from "../identity-provider/bounded-fetch.ts";
import type { Identity } from "../identity-provider/claims.rules.ts";
import type { IdentityProvider, ProviderSecrets } from "../identity-provider/provider.ts";
import { makeToken } from "../sessions/session.rules.ts";
import { type Challenge, giveChallenge, readChallenge } from "./challenges.ts";
import type { SignInContext } from "./context.ts";
import { namedBaseUrl } from "./invitation.rules.ts";

/** The purpose of an attempt at the identity provider. */
export type ProviderPurpose =
  | { readonly kind: "sign_in" }
  | { readonly kind: "invitation"; readonly token: string }
  | { readonly kind: "connect" | "confirm"; readonly personId: string; readonly sessionId: string };

/**
 * One attempt to sign in at the provider. The browser stores it, encrypted, so that the service stores no unfinished
 * attempts.
 */
export interface ProviderAttempt {
  readonly secrets: ProviderSecrets;
  readonly purpose: ProviderPurpose;
  /** The page of the dashboard to which the browser comes back. */
  readonly next: string;
  readonly begunAt: number;
}

/** Seconds until the browser must be back: to look up a password, or to set up a second factor at the provider. */
export const ATTEMPT_TIMEOUT_SECONDS = 15 * 60;

const PURPOSE = "identity provider";
const CALLBACK_PATH = "/console/v1/sign-in/oidc/callback";

/** The way ended with something that the page has to say. Nothing was done. */
export class ProviderSignInError extends Error {
  override readonly name = "ProviderSignInError";
  readonly notice: SignInNotice;

  /** @param reason for the operator's log, where there is more to say than the notice does */
  constructor(notice: SignInNotice, reason: string = notice, options?: ErrorOptions) {
    super(reason, options);
    this.notice = notice;
  }
}

/** @throws ServiceError `not_found` when no provider is configured, or signing in there is disabled */
export function requireProvider({ identityProvider, signInMethods }: SignInContext): IdentityProvider {
  if (identityProvider === undefined || !signInMethods.includes("oidc"))
    throw serviceError("not_found", "identityProvider");
  return identityProvider;
}

/**
 * Begins an attempt.
 * @returns the address to which the browser is redirected, and the data that it stores meanwhile
 * @throws ProviderSignInError when the provider cannot be reached
 */
export async function beginAttempt(
  context: SignInContext,
  purpose: ProviderPurpose,
  next: string,
): Promise<{ readonly url: string; readonly token: string }> {
  const random = () => makeToken((bytes) => context.ids.randomBytes(bytes));
  const secrets = { state: random(), nonce: random(), verifier: random() };
  const attempt: ProviderAttempt = { secrets, purpose, next, begunAt: context.clock() };
  const token = giveChallenge(context, PURPOSE, JSON.stringify(attempt), ATTEMPT_TIMEOUT_SECONDS * 1000);
  const url = await requireProvider(context)
    .addressFor(secrets, redirectUri(context), purpose.kind === "confirm")
    .catch(explain);
  return { url, token };
}

/**
 * Returns the way that a browser comes back from, if it is the one that it went.
 * @param query of the address that it came back to
 * @throws ProviderSignInError `expired`
 */
export function readAttempt(
  context: SignInContext,
  token: string | undefined,
  query: URLSearchParams,
): { readonly attempt: ProviderAttempt; readonly challenge: Challenge } {
  try {
    const challenge = readChallenge(context, PURPOSE, token ?? "");
    // A value that decrypts was written by this file.
    const attempt = JSON.parse(challenge.value) as ProviderAttempt;
    if (query.get("state") === attempt.secrets.state) return { attempt, challenge };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
  throw new ProviderSignInError("expired");
}

/**
 * Returns the identity of the person who came back.
 * @throws ProviderSignInError when the provider rejects the attempt or cannot be reached
 */
export function identify(context: SignInContext, attempt: ProviderAttempt, query: URLSearchParams): Promise<Identity> {
  const returned = new URL(redirectUri(context));
  returned.search = query.toString();
  return requireProvider(context).identify(returned, attempt.secrets).catch(explain);
}

function redirectUri({ baseUrl }: SignInContext): string {
  return namedBaseUrl(baseUrl()) + CALLBACK_PATH;
}

/** Characters of a reason in the log. */
const MAX_REASON_LENGTH = 500;

/** Maps the library's errors to messages for the person. The errors' texts hold no tokens; their causes may. */
function explain(error: unknown): never {
  const unavailable = [error, (error as Error).cause].find((one) => one instanceof ProviderUnavailable);
  if (unavailable !== undefined) throw new ProviderSignInError("provider_unavailable", unavailable.message);
  const { code, error: answer, error_description: more } = error as Readonly<Record<string, unknown>>;
  if (answer === "access_denied") throw new ProviderSignInError("cancelled");
  const parts = [(error as Error).message, code, answer, more, causeOf(error as Error)];
  const reason = parts.filter((part) => typeof part === "string").join(": ");
  // The browser's parameters may hold any text.
  throw new ProviderSignInError("provider_refused", reason.replaceAll(/\p{C}/gu, " ").slice(0, MAX_REASON_LENGTH));
}

function causeOf({ cause }: { readonly cause?: unknown }): string | undefined {
  return cause instanceof Error ? cause.message : undefined;
}
