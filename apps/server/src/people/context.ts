import type { CommandContext } from "../command-context.ts";
import type { SignInMethod } from "../config.ts";
import type { TokenCipher } from "../encryption.ts";
import type { IdentityProvider } from "../identity-provider/provider.ts";
import type { PasswordHashing } from "./passwords.ts";

/** What signing in works with. */
export interface SignInContext extends CommandContext {
  /** Where browsers reach the service. */
  readonly baseUrl: () => string;
  /** The operator's name, which browsers and authenticator apps show. */
  readonly serviceName: string;
  /** Encrypts challenges and the secrets of authenticator apps. */
  readonly cipher: TokenCipher;
  readonly passwords: PasswordHashing;
  /** How people may sign in. */
  readonly signInMethods: readonly SignInMethod[];
  readonly identityProvider: IdentityProvider | undefined;
}
