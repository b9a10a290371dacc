import { serviceError } from "@bikeshare/rules";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Transaction } from "../../storage/db/database.ts";
import { hashToken } from "../sessions/session.rules.ts";
import type { SignInContext } from "./context.ts";
import {
  deleteExpiredChallenges,
  findPasskeyOwner,
  insertPasskey,
  insertUsedChallenge,
  listPasskeys,
  lockPasskey,
  type PasskeyRow,
  updatePasskeyUse,
} from "./credential-queries.ts";
import { type RelyingParty, relyingParty } from "./people.rules.ts";
import { lockPerson } from "./queries.ts";

/*
 * Adds passkeys and verifies sign-ins with them. A challenge is an encrypted value that a browser must bring back in time.
 * Sign-ins at the identity provider and the setup of authenticator apps use challenges too.
 */

/** Milliseconds in which a browser must answer: enough to fetch a phone from another part of the building. */
const CHALLENGE_TIMEOUT_MS = 5 * 60_000;

/** The content of a challenge, as a browser brings it back. */
export interface Challenge {
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/**
 * Gives an encrypted challenge to a browser, so that the service does not store unanswered ones.
 * @param purpose the only purpose for which it is valid
 */
export function giveChallenge(
  { cipher, clock }: SignInContext,
  purpose: string,
  value: string,
  timeoutMs = CHALLENGE_TIMEOUT_MS,
): string {
  const challenge: Challenge = { value, expires: clock() + timeoutMs };
  return cipher.encrypt(purpose, JSON.stringify(challenge));
}

/** Reads a challenge that a browser brings back. @throws ServiceError when it has expired, or has another purpose */
export function readChallenge({ cipher, clock }: SignInContext, purpose: string, token: string): Challenge {
  const text = cipher.decrypt(purpose, token);
  // A value that decrypts was written by this file.
  const challenge = text === undefined ? undefined : (JSON.parse(text) as Challenge);
  if (challenge === undefined || challenge.expires <= clock()) throw serviceError("invalid_parameter", "challenge");
  return challenge;
}

/** Marks a challenge as used, in the transaction that it authorizes. @throws ServiceError when it was answered before */
export async function useChallenge({ clock }: SignInContext, tx: Transaction, challenge: Challenge): Promise<void> {
  await deleteExpiredChallenges(tx, new Date(clock()));
  if (!(await insertUsedChallenge(tx, hashToken(challenge.value), new Date(challenge.expires))))
    throw serviceError("invalid_parameter", "challenge");
}

/** The options that a page passes to the browser, and the token that the page returns with the browser's answer. */
interface BrowserTask {
  readonly options: object;
  readonly challengeToken: string;
}

/** The purposes of challenges (see `giveChallenge`). */
const SIGN_IN = "passkey sign-in";
const registrationOf = (personId: string) => `passkey registration ${personId}`;
const CHALLENGE_BYTES = 32;
/** Maximum passkeys of one person: enough for many phones, computers and security keys. */
const MAX_PASSKEYS = 20;

/**
 * EdDSA, ES256 and RS256: every authenticator supports one of them. The library's default includes algorithms that are
 * experimental in Node.
 */
const ALGORITHMS = [-8, -7, -257];

/** Loaded with the first passkey: it takes longer than the rest of a start. */
const loadWebAuthn = () => import("@simplewebauthn/server");

/** Begins to add a passkey. The passkey must sign in without a user name, and ask for a fingerprint, a face or a PIN. */
export async function beginRegistration(
  context: SignInContext,
  person: { readonly id: string; readonly email: string; readonly name: string },
): Promise<BrowserTask> {
  const { generateRegistrationOptions } = await loadWebAuthn();
  const known = await listPasskeys(context.db, person.id);
  const options = await generateRegistrationOptions({
    rpName: context.serviceName,
    rpID: partyOf(context).id,
    userName: person.email,
    userDisplayName: person.name,
    userID: new Uint8Array(Buffer.from(person.id)),
    challenge: new Uint8Array(context.ids.randomBytes(CHALLENGE_BYTES)),
    timeout: CHALLENGE_TIMEOUT_MS,
    attestationType: "none",
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: known.map(({ id, transports }) => ({ id, transports: [...transports] })),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  return { options, challengeToken: giveChallenge(context, registrationOf(person.id), options.challenge) };
}

/**
 * Adds the passkey that a browser has made.
 * @throws ServiceError when the browser did not make it for this person, service and challenge, it is known already, or the
 * person has too many
 */
export async function finishRegistration(
  context: SignInContext,
  tx: Transaction,
  personId: string,
  answer: { readonly name: string; readonly challengeToken: string; readonly response: RegistrationResponseJSON },
): Promise<void> {
  const { verifyRegistrationResponse } = await loadWebAuthn();
  const challenge = readChallenge(context, registrationOf(personId), answer.challengeToken);
  const party = partyOf(context);
  const { registrationInfo: made } = await verifyRegistrationResponse({
    response: answer.response,
    expectedChallenge: challenge.value,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch((error: unknown) => {
    throw refused("it does not answer what was asked", error);
  });
  if (made === undefined) throw refused("it could not be verified");
  await useChallenge(context, tx, challenge);
  if ((await listPasskeys(tx, personId)).length >= MAX_PASSKEYS) throw refused(`${MAX_PASSKEYS} are the most`);
  const isNew = await insertPasskey(tx, {
    id: made.credential.id,
    person_id: personId,
    public_key: Buffer.from(made.credential.publicKey),
    counter: made.credential.counter,
    transports: made.credential.transports ?? [],
    name: answer.name,
    is_synced: made.credentialBackedUp,
    created_at: new Date(context.clock()),
    last_used_at: null,
  });
  if (!isNew) throw refused("it is known already");
}

/** Begins to sign in: the browser offers the passkeys that it has for this service. */
export async function beginAuthentication(context: SignInContext): Promise<BrowserTask> {
  const { generateAuthenticationOptions } = await loadWebAuthn();
  const options = await generateAuthenticationOptions({
    rpID: partyOf(context).id,
    challenge: new Uint8Array(context.ids.randomBytes(CHALLENGE_BYTES)),
    timeout: CHALLENGE_TIMEOUT_MS,
    userVerification: "required",
  });
  return { options, challengeToken: giveChallenge(context, SIGN_IN, options.challenge) };
}

/** Verifies a sign-in with a passkey, once for each challenge. @returns the id of the passkey's person */
export async function finishAuthentication(
  context: SignInContext,
  tx: Transaction,
  answer: { readonly challengeToken: string; readonly response: AuthenticationResponseJSON },
): Promise<string> {
  const challenge = readChallenge(context, SIGN_IN, answer.challengeToken);
  const ownerId = await findPasskeyOwner(tx, answer.response.id);
  // Locks the person first, in the same order as the removal of passkeys.
  if (ownerId !== undefined) await lockPerson(tx, ownerId);
  const passkey = await lockPasskey(tx, answer.response.id);
  if (passkey === undefined || !isOwnHandle(answer.response, passkey.person_id))
    throw serviceError("unauthorized", "wrongPasskey");
  const counter = await verifiedCounter(partyOf(context), passkey, challenge.value, answer.response);
  await useChallenge(context, tx, challenge);
  await updatePasskeyUse(tx, passkey.id, counter, new Date(context.clock()));
  return passkey.person_id;
}

/** Tells whether a passkey's user handle, if the authenticator sends one, is that of the person it was registered for. */
function isOwnHandle({ response: { userHandle } }: AuthenticationResponseJSON, personId: string): boolean {
  return userHandle === undefined || userHandle === null || userHandle === Buffer.from(personId).toString("base64url");
}

/**
 * Verifies the answer to a challenge. The library rejects a counter that has not grown, because somebody may have copied the
 * passkey. Passkeys that are synced between devices do not count: both counters are 0.
 * @returns the new count of the passkey's signatures
 */
async function verifiedCounter(
  party: RelyingParty,
  { id, public_key, counter, transports }: PasskeyRow,
  expectedChallenge: string,
  response: AuthenticationResponseJSON,
): Promise<number> {
  const { verifyAuthenticationResponse } = await loadWebAuthn();
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    credential: { id, publicKey: new Uint8Array(public_key), counter, transports: [...transports] },
  }).catch((cause: unknown) => {
    throw serviceError("unauthorized", "wrongPasskey", {}, { cause });
  });
  if (!verified) throw serviceError("unauthorized", "wrongPasskey");
  return authenticationInfo.newCounter;
}

function partyOf({ baseUrl }: SignInContext): RelyingParty {
  const party = relyingParty(baseUrl());
  if (party === undefined) throw refused("browsers allow none on an IP address: PUBLIC_URL must name a host");
  return party;
}

function refused(reason: string, cause?: unknown) {
  return serviceError("invalid_parameter", "passkeyRefused", { reason }, { cause });
}
