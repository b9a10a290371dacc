import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { MAX_MAIL_ADDRESS, MAX_PERSON_NAME } from "../limits.ts";
import { issueText } from "../messages.ts";
import { isPlainName } from "../text-rules.ts";
import { identifier, timestamp } from "../values.ts";
import { oneTimeCode, passkeyAssertion, password } from "./credentials.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds } from "./endpoint.ts";
import { nextPage, providerAddress } from "./identity-provider.ts";

/** The role of a membership: an admin changes things, a viewer reads. */
export const membershipRole = z.enum(["admin", "viewer"]);
export type MembershipRole = z.infer<typeof membershipRole>;

/** A person's membership of a partner, or of the operator, in one system. */
export const membership = z
  .object({
    system_id: identifier,
    system_name: z.string(),
    time_zone: z.string().describe("The system's time zone, in which the pages show times"),
    partner_id: identifier.nullable().describe("Null: a membership of the operator"),
    partner_name: z.string().nullable(),
    is_sandbox: z.boolean().describe("Whether the system is the partner's sandbox"),
    is_agency: z.boolean().describe("Whether the partner is a city that reads MDS"),
    role: membershipRole,
  })
  .strict();
export type Membership = z.infer<typeof membership>;

export const consoleSession = z
  .object({
    person: z.object({ id: identifier, email: z.string(), name: z.string() }).strict(),
    memberships: z.array(membership),
    needs_proof: z
      .boolean()
      .describe(
        "True: the operator's rights are suspended until the person proves that the account's address is theirs",
      ),
    csrf_token: z.string().describe("Send it as `X-CSRF-Token` with every request that changes something"),
    confirmed_until: timestamp
      .nullable()
      .describe("Until when endpoints that need a confirmation may be called; null: not now"),
    expires_at: timestamp.describe("When the session ends, however much it is used"),
  })
  .strict();
export type ConsoleSession = z.infer<typeof consoleSession>;

export const personName = z
  .string()
  .min(1, issueText("empty"))
  .max(MAX_PERSON_NAME, issueText("tooLong", { limit: MAX_PERSON_NAME }))
  .refine(isPlainName, issueText("plainName"));

/**
 * A person's mail address: two parts without spaces, control characters, or characters with a meaning in a mail's headers.
 * It is not checked any further: only a mail that arrives proves one.
 */
export const emailAddress = z
  .string()
  .max(MAX_MAIL_ADDRESS, issueText("tooLong", { limit: MAX_MAIL_ADDRESS }))
  .regex(/^[^\s@<>,;:"()[\]\\\p{C}]+@[^\s@<>,;:"()[\]\\\p{C}]+$/u, issueText("email"));

const signedOut = z
  .object({
    provider_url: z.string().nullable().describe("The identity provider's sign-out page, to open next; null: none"),
  })
  .strict();

/** Endpoints of the caller's own session. A frame of the operator's portal (`embedded`) may read and end its session. */
export const sessionEndpoints = {
  get: {
    method: "GET",
    path: "/console/v1/session",
    summary: "Who is signed in",
    metadata: consoleNeeds("person", "viewer", { embedded: true }),
    query: noQuery,
    responses: { 200: consoleSession, ...consoleErrors },
  },
  end: {
    method: "DELETE",
    path: "/console/v1/session",
    summary: "Sign out",
    metadata: consoleNeeds("person", "viewer", { embedded: true }),
    query: noQuery,
    responses: { 200: signedOut, ...consoleErrors, ...consoleBodyErrors },
  },
  confirm: {
    method: "POST",
    path: "/console/v1/session/confirm",
    summary: "Confirm the caller's identity, before a secret is shown or a key is made",
    description: "The session goes on under a new cookie and a new CSRF token.",
    metadata: consoleNeeds("person"),
    query: noQuery,
    body: z.union([passkeyAssertion, z.object({ password, code: oneTimeCode.optional() }).strict()]),
    responses: { 200: consoleSession, ...consoleErrors, ...consoleBodyErrors },
  },
  confirmAtProvider: {
    method: "POST",
    path: "/console/v1/session/confirm/oidc",
    summary: "Begin to confirm the caller's identity at the identity provider",
    metadata: consoleNeeds("person"),
    query: noQuery,
    body: z.object({ next: nextPage }).strict(),
    responses: { 200: providerAddress, ...consoleErrors, ...consoleBodyErrors },
  },
} as const;
