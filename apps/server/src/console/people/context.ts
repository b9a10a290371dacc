import type { CommandContext } from "../../command-context.ts";
import type { SignInMethod } from "../../config.ts";
import type { Transaction } from "../../storage/db/database.ts";
import type { TokenCipher } from "../../storage/secrets/encryption.ts";
import type { IdentityProvider } from "../identity-provider/provider.ts";
import type { PasswordHashing } from "./passwords.ts";
import type { SignInLimits } from "./sign-in-limits.ts";

/** The dependencies of signing in. */
export interface SignInContext extends CommandContext {
  /** The address at which browsers reach the service. */
  readonly baseUrl: () => string;
  /** The operator's name, which browsers and authenticator apps show. */
  readonly serviceName: string;
  /** Encrypts challenges and the secrets of authenticator apps. */
  readonly cipher: TokenCipher;
  readonly passwords: PasswordHashing;
  readonly signInLimits: SignInLimits;
  /** The methods of signing in. */
  readonly signInMethods: readonly SignInMethod[];
  readonly identityProvider: IdentityProvider | undefined;
}

/**
 * Begins a session of a person in the browser that has signed in. Call it in the transaction that has locked the person and
 * verified their credentials: otherwise a concurrent transaction that ends the person's sessions would miss this one.
 * @returns the cookie's token
 */
export type BeginSession = (tx: Transaction, personId: string, signIn?: SignInFacts) => Promise<string>;

/** The facts about a sign-in, apart from the person. */
interface SignInFacts {
  /** When they proved who they are, in milliseconds since 1970; now, when left out. */
  readonly confirmedAt?: number;
  /** The ID token of the identity provider. */
  readonly idToken?: string;
}
