/** Schemas for signing in at the operator's identity provider (OpenID Connect), which several endpoints share. */
import { z } from "zod";
import { issueText } from "../messages.ts";

/**
 * Why a sign-in at the identity provider did not go as expected. The redirect back to the dashboard carries it as the
 * parameter `notice`, and the page explains it. Only `credentials_removed` means that something was changed: the person was
 * the first to prove the account's address, so the credentials that it had before were removed.
 */
export const signInNotice = z.enum([
  "cancelled",
  "credentials_removed",
  "email_domain",
  "email_unverified",
  "expired",
  "invitation_over",
  // To confirm who they are, the person must sign in at the provider anew.
  "not_recent",
  // The person, or the account at the provider, is connected to another one already.
  "other_account",
  "other_email",
  // The person was asked to confirm who they are, but signed in at the provider with an account that is not theirs.
  "other_person",
  "provider_refused",
  "provider_unavailable",
  "rate_limited",
  "unknown_person",
]);
export type SignInNotice = z.infer<typeof signInNotice>;

/** Maximum characters of the path of the page that opens after a sign-in. */
const MAX_NEXT_LENGTH = 500;

/**
 * The path of a page, without `/dashboard`. It must be a path, so that the redirect cannot lead to another site, as `//host`
 * and `/\host` would.
 */
export const nextPage = z
  .string()
  .max(MAX_NEXT_LENGTH, issueText("tooLong", { limit: MAX_NEXT_LENGTH }))
  .regex(/^\/(?![/\\])[\x21-\x7e]*$/, issueText("dashboardPage"));

/** The address of the identity provider's page, to which the browser is sent. */
export const providerAddress = z.object({ url: z.string() }).strict();
