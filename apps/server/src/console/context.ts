import type { CommandContext } from "../command-context.ts";
import type { Database } from "../db/database.ts";
import { createTokenCipher } from "../encryption.ts";
import type { SignInContext } from "../people/context.ts";
import { createPasswordHashing } from "../people/passwords.ts";
import { createSignInLimits, type SignInLimits } from "../people/sign-in-limits.ts";
import type { AllSecrets } from "../secrets.ts";

/** What the routes of the console work with. */
export interface ConsoleContext extends SignInContext {
  readonly db: Database;
  readonly signInLimits: SignInLimits;
}

/** What pages and authenticator apps call the service where nobody has named it. */
const DEFAULT_SERVICE_NAME = "Bike-Sharing Data Service";

export function createConsoleContext(
  options: CommandContext & { readonly db: Database; readonly secrets: AllSecrets; readonly baseUrl: () => string },
): ConsoleContext {
  return {
    ...options,
    serviceName: DEFAULT_SERVICE_NAME,
    // The keys that keep webhook secrets: what they encrypt must outlast every restart too.
    cipher: createTokenCipher(options.secrets.webhookKeys, "sign-in"),
    passwords: createPasswordHashing(),
    signInLimits: createSignInLimits(options.clock),
  };
}
