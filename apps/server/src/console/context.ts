import type { SignInOptions } from "@bikeshare/contract/console";
import type { PageCache } from "../background/page-cache.ts";
import type { Database } from "../db/database.ts";
import { createTokenCipher } from "../encryption.ts";
import type { CursorCipher } from "../http/cursor.ts";
import { logoUrl } from "../http/dashboard.ts";
import type { ReadyBody } from "../http/response-body.ts";
import type { SignInContext } from "../people/context.ts";
import { DEFAULT_SERVICE_NAME } from "../people/invitation-mail.ts";
import { createPasswordHashing } from "../people/passwords.ts";
import { createSignInLimits, type SignInLimits } from "../people/sign-in-limits.ts";
import type { AllSecrets } from "../secrets.ts";
import type { Branding } from "../startup/branding.ts";
import { createSecretCipher, type SecretCipher } from "../webhooks/endpoints/secret.ts";
import { createMailer, type Mailer } from "../webhooks/warnings/mailer.ts";

/** What the routes of the console work with. */
export interface ConsoleContext extends SignInContext {
  readonly db: Database;
  readonly signInLimits: SignInLimits;
  /** What the operator looks like on the pages. */
  readonly branding: Pick<SignInOptions["branding"], "logo_url" | "color">;
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
  readonly branding?: Branding;
}

export function createConsoleContext({ mode = "live", mail, branding, ...options }: ConsoleOptions): ConsoleContext {
  return {
    ...options,
    mode,
    serviceName: branding?.name ?? DEFAULT_SERVICE_NAME,
    branding: {
      logo_url: branding?.logo === undefined ? null : logoUrl(branding.logo),
      color: branding?.color ?? null,
    },
    // The keys that keep webhook secrets: what they encrypt must outlast every restart too.
    cipher: createTokenCipher(options.secrets.webhookKeys, "sign-in"),
    passwords: createPasswordHashing(),
    signInLimits: createSignInLimits(options.clock),
    webhookCipher: createSecretCipher(options.secrets.webhookKeys),
    mailer: mail && createMailer(mail.smtpUrl, { from: mail.from }),
  };
}
