import { serviceError } from "@bikeshare/rules";
import type { Queryable } from "../../storage/db/database.ts";
import { hashToken } from "../sessions/session.rules.ts";
import type { SignInContext } from "./context.ts";
import {
  deleteRecoveryCode,
  deleteRecoveryCodes,
  insertRecoveryCodes,
  updateAuthenticatorApp,
  updateTotpStep,
} from "./credential-queries.ts";
import { giveChallenge, readChallenge } from "./passkeys.ts";
import type { PersonRow } from "./queries.ts";

/* Codes of authenticator apps, which are asked for beside a password, and recovery codes. */

/** Seconds for which an authenticator app shows a code. All apps use 30 by default. */
const PERIOD_SECONDS = 30;
/** Codes before and after the present one that are accepted: clocks differ, and people type slowly. */
const WINDOW = 1;
/** The length that RFC 4226 recommends. */
const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
/** The length of a recovery code: 80 bits cannot be guessed, so that a plain hash protects it. */
const RECOVERY_CODE_BYTES = 10;

/** Returns the purpose of a setup token, which is valid only for the person for whom it was made. */
const setupOf = (personId: string) => `authenticator setup ${personId}`;
/** Returns the encryption context of a person's secret: it can be decrypted for the same person only. */
export const authenticatorContext = (personId: string) => `authenticator secret ${personId}`;
/** Separates values that sign-ins encrypt from other values under the same keys of the secrets file. */
export const SIGN_IN_PURPOSE = "sign-in";

/** Loaded with the first code. */
const loadOtp = () => import("otpauth");

/** What a page shows to set an app up, and the token that it brings back with the first code. */
export interface AuthenticatorSetup {
  readonly secret: string;
  readonly url: string;
  /** The URL as a QR code: rows of `1` (dark) and `0`. */
  readonly qrRows: readonly string[];
  readonly setupToken: string;
}

/** Begins to set up an authenticator app. Nothing is stored until a first code shows that it works. */
export async function beginSetup(
  context: SignInContext,
  person: { readonly id: string; readonly email: string },
): Promise<AuthenticatorSetup> {
  const [otp, qr] = await Promise.all([loadOtp(), import("uqr")]);
  const secret = new otp.Secret({ buffer: new Uint8Array(context.ids.randomBytes(SECRET_BYTES)).buffer });
  const url = new otp.TOTP({ issuer: context.serviceName, label: person.email, secret }).toString();
  const { data } = qr.encode(url, { border: 2 });
  return {
    secret: secret.base32,
    url,
    qrRows: data.map((row) => row.map((isDark) => (isDark ? "1" : "0")).join("")),
    setupToken: giveChallenge(context, setupOf(person.id), secret.base32),
  };
}

/** Sets an authenticator app up. @returns recovery codes, of which only hashes are stored */
export async function finishSetup(
  context: SignInContext,
  tx: Queryable,
  personId: string,
  { setupToken, code }: { readonly setupToken: string; readonly code: string },
): Promise<string[]> {
  const { value: secret } = readChallenge(context, setupOf(personId), setupToken);
  const step = await stepOf(secret, code, context.clock());
  if (step === undefined) throw serviceError("invalid_parameter", "wrongCode");
  await updateAuthenticatorApp(tx, personId, context.cipher.encrypt(authenticatorContext(personId), secret), step);
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    makeRecoveryCode(context.ids.randomBytes(RECOVERY_CODE_BYTES)),
  );
  await deleteRecoveryCodes(tx, personId);
  await insertRecoveryCodes(tx, personId, codes.map(hashCode));
  return codes;
}

/** Removes an authenticator app, with its recovery codes. */
export async function removeAuthenticatorApp(tx: Queryable, personId: string): Promise<void> {
  await updateAuthenticatorApp(tx, personId, null, null);
  await deleteRecoveryCodes(tx, personId);
}

/**
 * Tells whether a code of the app, or a recovery code, is right. It counts once, also when it is sent twice at the same
 * time.
 */
export async function useCode(
  { db, cipher, clock }: SignInContext,
  { id, totp_secret }: Pick<PersonRow, "id" | "totp_secret">,
  code: string,
): Promise<boolean> {
  const digits = code.replaceAll(/\s/g, "");
  // A recovery code never has six characters.
  if (!/^\d{6}$/.test(digits)) return deleteRecoveryCode(db, id, hashCode(code));
  const secret = totp_secret === null ? undefined : cipher.decrypt(authenticatorContext(id), totp_secret);
  const step = secret === undefined ? undefined : await stepOf(secret, digits, clock());
  return step !== undefined && updateTotpStep(db, id, step);
}

/** Returns the period to which a code belongs, counted since 1970 (`totp_last_step`); undefined for a wrong code. */
async function stepOf(secret: string, code: string, now: number): Promise<number | undefined> {
  const { Secret, TOTP } = await loadOtp();
  const totp = new TOTP({ secret: Secret.fromBase32(secret), period: PERIOD_SECONDS });
  const delta = totp.validate({ token: code.replaceAll(/\s/g, ""), timestamp: now, window: WINDOW });
  return delta === null ? undefined : Math.floor(now / 1000 / PERIOD_SECONDS) + delta;
}

/** Base 32 without letters and digits that look alike. */
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/** Returns ten bytes as 16 characters, in groups of four. */
function makeRecoveryCode(random: Uint8Array): string {
  const bits = [...random].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const characters = bits.match(/.{5}/g)?.map((five) => ALPHABET.charAt(Number.parseInt(five, 2))) ?? [];
  return characters.join("").match(/.{4}/g)?.join("-") ?? "";
}

/** Returns the hash of a recovery code. Upper and lower case, spaces and hyphens make no difference. */
function hashCode(code: string): Buffer {
  return hashToken(`recovery ${code.toUpperCase().replaceAll(/[\s-]/g, "")}`);
}
