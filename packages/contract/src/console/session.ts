import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { issueText } from "../messages.ts";
import { isOneLine } from "../text-rules.ts";
import { identifier, timestamp } from "../values.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds, done } from "./endpoint.ts";

/** What a membership lets one do: an admin changes things, a viewer reads. */
export const membershipRole = z.enum(["admin", "viewer"]);
export type MembershipRole = z.infer<typeof membershipRole>;

/** A person's membership of a partner, or of the operator, in one system. */
export const membership = z
  .object({
    system_id: identifier,
    system_name: z.string(),
    partner_id: identifier.nullable().describe("Null: the operator's"),
    partner_name: z.string().nullable(),
    role: membershipRole,
  })
  .strict();
export type Membership = z.infer<typeof membership>;

export const consoleSession = z
  .object({
    person: z.object({ id: identifier, email: z.string(), name: z.string() }).strict(),
    memberships: z.array(membership),
    csrf_token: z.string().describe("To be sent as `X-CSRF-Token` with every request that changes something"),
    confirmed_until: timestamp
      .nullable()
      .describe("Until when endpoints that ask for a confirmation may be called; null: not at present"),
    expires_at: timestamp.describe("When the session ends, however much it is used"),
  })
  .strict();
export type ConsoleSession = z.infer<typeof consoleSession>;

/** How the pages are dressed, and which ways of signing in they offer. */
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
        passkey: z.boolean().describe("False where browsers allow none, such as on an IP address"),
        password: z.boolean(),
        oidc: z.object({ name: z.string() }).strict().nullable().describe("Null: none is configured"),
      })
      .strict(),
  })
  .strict();
export type SignInOptions = z.infer<typeof signInOptions>;

/** Most characters of a person's name. */
const MAX_NAME_LENGTH = 100;

export const personName = z
  .string()
  .min(1, issueText("empty"))
  .max(MAX_NAME_LENGTH, issueText("tooLong", { limit: MAX_NAME_LENGTH }))
  .refine(isOneLine, issueText("oneLine"));

/** A person's mail address. It is not checked any further: only a mail that arrives proves one. */
export const emailAddress = z
  .string()
  .max(254, issueText("tooLong", { limit: 254 }))
  .regex(/^[^\s@<>,;:"()[\]\\\p{Cc}]+@[^\s@<>,;:"()[\]\\\p{Cc}]+$/u, issueText("email"));

/** The secret of an invitation's link: 32 random bytes in base64url. */
const invitationToken = z.string().max(100, issueText("tooLong", { limit: 100 }));

/** What an invitation is for, as its link shows it before anybody accepts. */
export const openInvitation = z
  .object({
    email: z.string(),
    system_name: z.string(),
    partner_name: z.string().nullable().describe("Null: the operator"),
    role: membershipRole,
    expires_at: timestamp,
    needs_sign_in: z.boolean().describe("The person has an account already: they sign in first, then accept"),
  })
  .strict();
export type OpenInvitation = z.infer<typeof openInvitation>;

/** One's own session. */
export const sessionEndpoints = {
  get: {
    method: "GET",
    path: "/console/v1/session",
    summary: "Who is signed in",
    metadata: consoleNeeds("person"),
    query: noQuery,
    responses: { 200: consoleSession, ...consoleErrors },
  },
  end: {
    method: "DELETE",
    path: "/console/v1/session",
    summary: "Sign out",
    metadata: consoleNeeds("person"),
    query: noQuery,
    responses: { 200: done, ...consoleErrors, ...consoleBodyErrors },
  },
} as const;

/** Signing in. */
export const signInEndpoints = {
  options: {
    method: "GET",
    path: "/console/v1/sign-in",
    summary: "How one can sign in",
    metadata: consoleNeeds("public"),
    query: noQuery,
    responses: { 200: signInOptions, ...consoleErrors },
  },
} as const;

/** The invited person's side of an invitation. The link's secret stands in bodies only: logs keep URLs. */
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
    responses: { 200: consoleSession, ...consoleErrors, ...consoleBodyErrors },
  },
} as const;
