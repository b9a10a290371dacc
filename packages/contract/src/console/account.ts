import { z } from "zod";
import { idParam, noQuery } from "../endpoint.ts";
import { errorBody } from "../errors.ts";
import { identifier, timestamp } from "../values.ts";
import { newPassword, oneTimeCode, passkeyAttestation, passkeyOptions } from "./credentials.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds } from "./endpoint.ts";
import { providerAddress } from "./identity-provider.ts";

/** A person's methods of signing in, and their sessions. */
export const account = z
  .object({
    passkeys: z.array(
      z
        .object({
          id: z.string(),
          name: z.string(),
          created_at: timestamp,
          last_used_at: timestamp.nullable(),
          is_synced: z.boolean().describe("True: a password manager keeps the passkey on all of the person's devices"),
        })
        .strict(),
    ),
    has_password: z.boolean(),
    identity: z
      .object({
        email: z
          .string()
          .nullable()
          .describe("The address, if the identity provider had verified it; null: it had not"),
        created_at: timestamp,
        last_used_at: timestamp,
      })
      .strict()
      .nullable()
      .describe("The person's account at the identity provider; null: not connected"),
    authenticator_app: z.object({ is_set_up: z.boolean(), recovery_codes_left: z.number().int().min(0) }).strict(),
    sessions: z.array(
      z
        .object({
          id: identifier,
          is_current: z.boolean(),
          created_at: timestamp,
          last_used_at: timestamp.describe("Accurate to a quarter of an hour"),
          address: z.string(),
          user_agent: z.string(),
        })
        .strict(),
    ),
  })
  .strict();
export type Account = z.infer<typeof account>;

/** A new secret for an authenticator app. It takes effect when the person sends back the app's first code. */
export const authenticatorSetup = z
  .object({
    secret: z.string().describe("The secret in base32, for typing it into the app"),
    otpauth_url: z.string(),
    qr_rows: z.array(z.string()).describe("`otpauth_url` as a QR code: rows of `1` (dark) and `0`"),
    setup_token: z.string(),
  })
  .strict();

const recoveryCodes = z
  .object({ recovery_codes: z.array(z.string()).describe("Each replaces a code of the app once; shown only now") })
  .strict();

const needs = consoleNeeds("person", "viewer", { confirmed: true });
/** Removals are refused by `last_one` if the person could not sign in any more. */
const removal = consoleNeeds("person", "viewer", { confirmed: true, conflicts: ["last_one"] });
const removalResponses = { 200: account, 409: errorBody, ...consoleErrors, ...consoleBodyErrors };
const responses = { 200: account, ...consoleErrors, ...consoleBodyErrors };

/**
 * A person's own account. Endpoints that change credentials need a confirmation. Most return the account as it is then.
 * Those that begin something return what the browser needs for it, and `setAuthenticatorApp` returns the recovery codes.
 */
export const accountEndpoints = {
  get: {
    method: "GET",
    path: "/console/v1/account",
    summary: "The caller's methods of signing in, and sessions",
    metadata: consoleNeeds("person"),
    query: noQuery,
    responses: { 200: account, ...consoleErrors },
  },
  passkeyOptions: {
    method: "POST",
    path: "/console/v1/account/passkeys/options",
    summary: "Begin to add a passkey",
    metadata: needs,
    query: noQuery,
    body: z.object({}).strict(),
    responses: { ...responses, 200: passkeyOptions },
  },
  addPasskey: {
    method: "POST",
    path: "/console/v1/account/passkeys",
    summary: "Add a passkey",
    metadata: needs,
    query: noQuery,
    body: passkeyAttestation,
    responses,
  },
  removePasskey: {
    method: "DELETE",
    path: "/console/v1/account/passkeys/:id",
    summary: "Remove a passkey",
    metadata: removal,
    // A passkey's id has up to 1,023 bytes: 1,364 characters in base64url.
    pathParams: z.object({ id: z.string().min(1).max(1400) }),
    query: noQuery,
    responses: removalResponses,
  },
  setPassword: {
    method: "PUT",
    path: "/console/v1/account/password",
    summary: "Set the password",
    metadata: needs,
    query: noQuery,
    body: z.object({ password: newPassword }).strict(),
    responses,
  },
  removePassword: {
    method: "DELETE",
    path: "/console/v1/account/password",
    summary: "Remove the password, and the authenticator app with it",
    metadata: removal,
    query: noQuery,
    responses: removalResponses,
  },
  beginAuthenticatorApp: {
    method: "POST",
    path: "/console/v1/account/authenticator-app/setup",
    summary: "Begin to set up an authenticator app",
    metadata: needs,
    query: noQuery,
    body: z.object({}).strict(),
    responses: { ...responses, 200: authenticatorSetup },
  },
  setAuthenticatorApp: {
    method: "PUT",
    path: "/console/v1/account/authenticator-app",
    summary: "Set up the authenticator app with its first code",
    metadata: needs,
    query: noQuery,
    body: z.object({ setup_token: z.string().max(2048), code: oneTimeCode }).strict(),
    responses: { ...responses, 200: recoveryCodes },
  },
  removeAuthenticatorApp: {
    method: "DELETE",
    path: "/console/v1/account/authenticator-app",
    summary: "Remove the authenticator app",
    metadata: needs,
    query: noQuery,
    responses,
  },
  connectIdentity: {
    method: "POST",
    path: "/console/v1/account/identity/connect",
    summary: "Begin to connect the caller's account at the identity provider",
    metadata: needs,
    query: noQuery,
    body: z.object({}).strict(),
    responses: { ...responses, 200: providerAddress },
  },
  disconnectIdentity: {
    method: "DELETE",
    path: "/console/v1/account/identity",
    summary: "Disconnect the account at the identity provider",
    metadata: removal,
    query: noQuery,
    responses: removalResponses,
  },
  endSession: {
    method: "DELETE",
    path: "/console/v1/account/sessions/:id",
    summary: "Sign out one of the caller's browsers",
    metadata: consoleNeeds("person"),
    pathParams: idParam,
    query: noQuery,
    responses,
  },
  endOtherSessions: {
    method: "DELETE",
    path: "/console/v1/account/sessions",
    summary: "Sign out all other browsers",
    metadata: consoleNeeds("person"),
    query: noQuery,
    responses,
  },
} as const;
