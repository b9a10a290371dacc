import type { PageCache } from "../background/page-cache.ts";
import type { Database } from "../db/database.ts";
import { createTokenCipher } from "../encryption.ts";
import type { CursorCipher } from "../http/cursor.ts";
import type { ReadyBody } from "../http/response-body.ts";
import type { SignInContext } from "../people/context.ts";
import { DEFAULT_SERVICE_NAME } from "../people/invitation-mail.ts";
import { createPasswordHashing } from "../people/passwords.ts";
import { createSignInLimits, type SignInLimits } from "../people/sign-in-limits.ts";
import type { AllSecrets } from "../secrets.ts";
import { createSecretCipher, type SecretCipher } from "../webhooks/endpoints/secret.ts";
import { createMailer, type Mailer } from "../webhooks/warnings/mailer.ts";

/** What the routes of the console work with. */
export interface ConsoleContext extends SignInContext {
  readonly db: Database;
  readonly signInLimits: SignInLimits;
  readonly cursorCipher: CursorCipher;
  readonly webhookCipher: SecretCipher;
  /** Requests in any 60 s for keys without a number of their own. */
  readonly rateLimit: number;
  /** Which keys the deployment issues to partners. */
  readonly mode: "live" | "test";
  /** The map of each system's stations, ready to be sent. */
  readonly stationMaps: PageCache<ReadyBody>;
  /** Undefined: invitations are shown to whoever makes them. */
  readonly mailer: Mailer | undefined;
  readonly logger: { warn(fields: object, message: string): void };
}

interface ConsoleOptions extends Pick<
  ConsoleContext,
  "db" | "clock" | "ids" | "baseUrl" | "rateLimit" | "cursorCipher" | "stationMaps" | "logger"
> {
  readonly secrets: AllSecrets;
  readonly mode?: ConsoleContext["mode"];
  readonly mail?: { readonly smtpUrl: string; readonly from: string } | undefined;
}

export function createConsoleContext({ mode = "live", mail, ...options }: ConsoleOptions): ConsoleContext {
  return {
    ...options,
    mode,
    serviceName: DEFAULT_SERVICE_NAME,
    // The keys that keep webhook secrets: what they encrypt must outlast every restart too.
    cipher: createTokenCipher(options.secrets.webhookKeys, "sign-in"),
    passwords: createPasswordHashing(),
    signInLimits: createSignInLimits(options.clock),
    webhookCipher: createSecretCipher(options.secrets.webhookKeys),
    mailer: mail && createMailer(mail.smtpUrl, { from: mail.from }),
  };
}
