/** The way to the identity provider (OpenID Connect) and back, of which several endpoints are the beginning. */
import { z } from "zod";
import { issueText } from "../messages.ts";

/**
 * The outcome of a sign-in at the identity provider, which ends with a redirect: the page explains it by the parameter
 * `notice` of its address. Nothing was changed, except with `credentials_removed`.
 */
export const signInNotice = z.enum([
  "cancelled",
  "credentials_removed",
  "email_domain",
  "email_unverified",
  "expired",
  "invitation_over",
  "not_recent",
  "other_account",
  "other_email",
  "other_person",
  "provider_refused",
  "provider_unavailable",
  "rate_limited",
  "unknown_person",
]);
export type SignInNotice = z.infer<typeof signInNotice>;

/** Most characters of the address of a page that one comes back to. */
const MAX_NEXT_LENGTH = 500;

/** A page of the dashboard, without `/dashboard`: a redirect must not lead to another site. */
export const nextPage = z
  .string()
  .max(MAX_NEXT_LENGTH, issueText("tooLong", { limit: MAX_NEXT_LENGTH }))
  .regex(/^\/(?![/\\])[\x21-\x7e]*$/, issueText("dashboardPage"));

/** The address to which the browser is redirected: a page of the identity provider. */
export const providerAddress = z.object({ url: z.string() }).strict();
