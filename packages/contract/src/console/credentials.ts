import { z } from "zod";
import { MAX_PASSKEY_NAME, MIN_PASSWORD_LENGTH } from "../limits.ts";
import { issueText } from "../messages.ts";

/** Returns the schema of a string with a maximum length. */
function atMost(limit: number) {
  return z.string().max(limit, issueText("tooLong", { limit }));
}

/** Maximum characters of a password, which bounds the input of the hash. */
const MAX_PASSWORD_LENGTH = 200;

/** A password as somebody types it to sign in. */
export const password = atMost(MAX_PASSWORD_LENGTH);

export const newPassword = password.min(
  MIN_PASSWORD_LENGTH,
  issueText("atLeast", { bound: `${MIN_PASSWORD_LENGTH} characters long` }),
);

/** A code of an authenticator app, or a recovery code. */
export const oneTimeCode = atMost(40);

/** The input of `@simplewebauthn/browser`: options of the Web Authentication API as JSON. */
export const passkeyOptions = z
  .object({
    options: z.record(z.unknown()).describe("The input of `startRegistration` or `startAuthentication`"),
    challenge_token: z.string().describe("Send it back with the browser's answer, within five minutes"),
  })
  .strict();
export type PasskeyOptions = z.infer<typeof passkeyOptions>;

/** Bytes in base64url. */
const bytes = atMost(16 * 1024);
const challengeToken = atMost(2048);

/** The browser's answer after a passkey was used. Browsers may add fields (`passthrough`). */
export const passkeyAssertion = z
  .object({
    challenge_token: challengeToken,
    response: z
      .object({
        id: bytes,
        rawId: bytes,
        type: z.literal("public-key"),
        response: z
          .object({
            clientDataJSON: bytes,
            authenticatorData: bytes,
            signature: bytes,
            userHandle: bytes.optional(),
          })
          .passthrough(),
        clientExtensionResults: z.object({}).passthrough(),
      })
      .passthrough(),
  })
  .strict();

/** The browser's answer after a passkey was made. Browsers may add fields (`passthrough`). */
export const passkeyAttestation = z
  .object({
    challenge_token: challengeToken,
    name: atMost(MAX_PASSKEY_NAME).min(1, issueText("empty")).describe("The person's name for the passkey"),
    response: z
      .object({
        id: bytes,
        rawId: bytes,
        type: z.literal("public-key"),
        response: z.object({ clientDataJSON: bytes, attestationObject: bytes }).passthrough(),
        clientExtensionResults: z.object({}).passthrough(),
      })
      .passthrough(),
  })
  .strict();
