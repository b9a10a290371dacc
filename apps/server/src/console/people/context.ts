import type { CommandContext } from "../../command-context.ts";
import type { SignInMethod } from "../../config.ts";
import type { Transaction } from "../../storage/db/database.ts";
import type { TokenCipher } from "../../storage/secrets/encryption.ts";
import type { IdentityProvider } from "../identity-provider/provider.ts";
import type { PasswordHashing } from "./passwords.ts";
import type { SignInLimits } from "./sign-in-limits.ts";

/** The dependencies of signing in. */
export interface SignInContext extends CommandContext {
  /** Where browsers reach the service. */
  readonly baseUrl: () => string;
  /** The operator's name, which browsers and authenticator apps show. */
  readonly serviceName: string;
  /** Encrypts challenges and the secrets of authenticator apps. */
  readonly cipher: TokenCipher;
  readonly passwords: PasswordHashing;
  readonly signInLimits: SignInLimits;
  /** How people may sign in. */
  readonly signInMethods: readonly SignInMethod[];
  readonly identityProvider: IdentityProvider | undefined;
}

/**
 * Begins a session of a person in the browser that has signed in. It belongs into the transaction that has locked the person
 * and looked at what they sign in with: what ends sessions meanwhile would otherwise miss this one.
 * @returns the cookie's token
 */
export type BeginSession = (tx: Transaction, personId: string, signIn?: SignInFacts) => Promise<string>;

/** The facts about a sign-in, apart from the person. */
interface SignInFacts {
  /** When they proved who they are, in milliseconds since 1970; now, when left out. */
  readonly confirmedAt?: number;
  /** Of the identity provider. */
  readonly idToken?: string;
}
