import { serviceError } from "@bikeshare/rules";
import type { Transaction } from "../../storage/db/database.ts";
import { hashToken } from "../sessions/session.rules.ts";
import type { SignInContext } from "./context.ts";
import { deleteExpiredChallenges, insertUsedChallenge } from "./credential-queries.ts";

/** Milliseconds in which a browser must answer: for a phone to be fetched from another part of the building. */
export const CHALLENGE_TIMEOUT_MS = 5 * 60_000;

export interface Challenge {
  readonly value: string;
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

/** Reads a challenge that a browser brings back. @throws ServiceError when it is over, or not for this */
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
