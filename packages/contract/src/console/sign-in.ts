import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { MAX_MAIL_ADDRESS } from "../limits.ts";
import { issueText } from "../messages.ts";
import { timestamp } from "../values.ts";
import { oneTimeCode, passkeyAssertion, passkeyOptions, password } from "./credentials.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds, done } from "./endpoint.ts";
import { nextPage, providerAddress } from "./identity-provider.ts";
import { consoleSession, membershipRole, personName } from "./session.ts";

/** The look of the pages, and the offered methods of signing in. */
export const signInOptions = z
  .object({
    branding: z
      .object({
        name: z.string(),
        logo_url: z.string().nullable(),
        color: z.string().nullable().describe("A CSS color, such as `#0a7c4a`"),
      })
      .strict(),
    methods: z
      .object({
        passkey: z.boolean().describe("False also if browsers allow no passkeys, such as on an IP address"),
        password: z.boolean(),
        provider: z.string().nullable().describe("The identity provider's name; null: none"),
      })
      .strict(),
  })
  .strict();
export type SignInOptions = z.infer<typeof signInOptions>;

/** The response when the password is right but a second factor is needed: send the same request again, with `code`. */
export const codeNeeded = z.object({ needs_code: z.literal(true) }).strict();

/** The secret of an invitation's link: 32 random bytes in base64url. */
const invitationToken = z.string().max(100, issueText("tooLong", { limit: 100 }));

/** An invitation as its link shows it before it is accepted. */
export const openInvitation = z
  .object({
    email: z.string(),
    system_name: z.string(),
    partner_name: z.string().nullable().describe("Null: the invitation is to the operator"),
    role: membershipRole,
    expires_at: timestamp,
    needs_sign_in: z.boolean().describe("The person has an account already: they sign in first, then accept"),
    proves_address: z
      .boolean()
      .describe("True: opening the link proves the address, as the link was mailed there or given by the operator"),
  })
  .strict();
export type OpenInvitation = z.infer<typeof openInvitation>;

const acceptedInvitation = consoleSession.extend({
  credentials_removed: z
    .boolean()
    .describe("True: the link was the first proof of the address, so the account's earlier credentials were removed"),
});

/** Endpoints for signing in. */
export const signInEndpoints = {
  options: {
    method: "GET",
    path: "/console/v1/sign-in",
    summary: "The methods of signing in, and the branding",
    metadata: consoleNeeds("public"),
    query: noQuery,
    responses: { 200: signInOptions, ...consoleErrors },
  },
  passkeyOptions: {
    method: "POST",
    path: "/console/v1/sign-in/passkey/options",
    summary: "Begin to sign in, or to confirm, with a passkey",
    metadata: consoleNeeds("public"),
    query: noQuery,
    body: z.object({}).strict(),
    responses: { 200: passkeyOptions, ...consoleErrors, ...consoleBodyErrors },
  },
  passkey: {
    method: "POST",
    path: "/console/v1/sign-in/passkey",
    summary: "Sign in with a passkey",
    metadata: consoleNeeds("public"),
    query: noQuery,
    body: passkeyAssertion,
    responses: { 200: consoleSession, ...consoleErrors, ...consoleBodyErrors },
  },
  password: {
    method: "POST",
    path: "/console/v1/sign-in/password",
    summary: "Sign in with a password",
    metadata: consoleNeeds("public"),
    query: noQuery,
    body: z.object({ email: z.string().max(MAX_MAIL_ADDRESS), password, code: oneTimeCode.optional() }).strict(),
    responses: { 200: z.union([consoleSession, codeNeeded]), ...consoleErrors, ...consoleBodyErrors },
  },
  beginAtProvider: {
    method: "POST",
    path: "/console/v1/sign-in/oidc",
    summary: "Begin to sign in, or to accept an invitation, at the identity provider",
    metadata: consoleNeeds("public"),
    query: noQuery,
    body: z.object({ next: nextPage.optional(), invitation_token: invitationToken.optional() }).strict(),
    responses: { 200: providerAddress, ...consoleErrors, ...consoleBodyErrors },
  },
  finishAtProvider: {
    method: "GET",
    path: "/console/v1/sign-in/oidc/callback",
    summary: "The page to which the identity provider sends the browser back",
    description: "Redirects to a page of the dashboard; its parameter `notice` says what went wrong.",
    metadata: consoleNeeds("public"),
    // No `query`: the identity provider chooses the parameters, and the route reads them from the request.
    responses: { 303: done, ...consoleErrors },
  },
} as const;

/** The invited person's endpoints. The link's secret is sent only in bodies, because logs contain URLs. */
export const invitationEndpoints = {
  read: {
    method: "POST",
    path: "/console/v1/invitations/read",
    summary: "What an invitation is for",
    metadata: consoleNeeds("public"),
    query: noQuery,
    body: z.object({ token: invitationToken }).strict(),
    responses: { 200: openInvitation, ...consoleErrors, ...consoleBodyErrors },
  },
  accept: {
    method: "POST",
    path: "/console/v1/invitations/accept",
    summary: "Accept an invitation, and be signed in",
    metadata: consoleNeeds("public"),
    query: noQuery,
    body: z.object({ token: invitationToken, name: personName.optional() }).strict(),
    responses: { 200: acceptedInvitation, ...consoleErrors, ...consoleBodyErrors },
  },
} as const;
