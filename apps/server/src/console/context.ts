import type { SignInOptions } from "@bikeshare/contract/console";
import type { FastifyRequest } from "fastify";
import type { FileSender } from "../feeds/exports/downloads.ts";
import { createRunningUndos, type RunningUndos } from "../feeds/imports/undo.ts";
import type { DeprecatedRoute } from "../http/bind.ts";
import type { CursorCipher } from "../http/cursor.ts";
import { logoUrl, type MapTiles } from "../http/dashboard.ts";
import type { RateLimits } from "../http/rate-limits/rate-limits.ts";
import type { ReadyBody } from "../http/response-body.ts";
import { NetworkList } from "../outbound/addresses/address-guard.ts";
import { createMailer, type Mailer } from "../outbound/mail/mailer.ts";
import type { Branding } from "../runtime/startup/dashboard-pages.ts";
import type { PageCache } from "../storage/background/page-cache.ts";
import type { Database, Queryable } from "../storage/db/database.ts";
import type { FilteredReads, ListReader } from "../storage/lists/read-context.ts";
import { createTokenCipher } from "../storage/secrets/encryption.ts";
import type { AllSecrets } from "../storage/secrets/secrets.ts";
import { type AddressProber, createAddressProber } from "../webhooks/address-probe.ts";
import { createSecretCipher, type SecretCipher } from "../webhooks/endpoints/secret.ts";
import type { AddressRules } from "../webhooks/rules/receiver-url.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";
import { createIdentityProvider, type ProviderSettings } from "./identity-provider/provider.ts";
import { createLiveFeed, type LiveFeed } from "./live/live-hub.ts";
import { SIGN_IN_PURPOSE } from "./people/authenticator-app.ts";
import {
  createInvitationLimits,
  createSignInLimits,
  type InvitationLimits,
  type SignInContext,
} from "./people/context.ts";
import { DEFAULT_SERVICE_NAME } from "./people/mails.ts";
import { createPasswordHashing } from "./people/passwords.ts";

/** The dependencies of the console's routes. */
export interface ConsoleContext extends SignInContext {
  readonly db: Database;
  readonly invitationLimits: InvitationLimits;
  /** The operator's logo and colours on the pages. */
  readonly branding: Pick<SignInOptions["branding"], "logo_url" | "color">;
  readonly cursorCipher: CursorCipher;
  readonly webhookCipher: SecretCipher;
  /** The addresses that webhooks may be sent to. */
  readonly webhookRules: AddressRules;
  readonly addressProber: AddressProber;
  /** Closed before the connections are: its streams stay open until they are ended. */
  readonly live: LiveFeed;
  /** Imports that are being undone. Closed before the connections are. */
  readonly undos: RunningUndos;
  /** Requests in any 60 s for keys without a limit of their own. */
  readonly rateLimit: number;
  /** Milliseconds after which a ride is under way for too long. */
  readonly longRideAfterMs: number;
  /** The map of each system's stations, ready to be sent. */
  readonly stationMaps: PageCache<ReadyBody>;
  /** The source of the maps' tiles; undefined: maps show no streets. */
  readonly mapTiles?: MapTiles | undefined;
  /** The files of exports. */
  readonly files: FileSender;
  /** Whether agencies can read data by MDS. */
  readonly mds?: boolean | undefined;
  /** The routes that are to be retired. */
  readonly deprecatedRoutes: readonly DeprecatedRoute[];
  /** Undefined: the person who makes an invitation sees its link. */
  readonly mailer: Mailer | undefined;
  readonly logger: { warn(fields: object, message: string): void };
}

/** The default of `longRideAfterMs`: a day. */
const DEFAULT_LONG_RIDE_AFTER_MS = 86_400_000;

/** The default of `webhooks`: public addresses on port 443. */
const PUBLIC_ADDRESSES: AddressRules = { allowNetworks: new NetworkList([]), allowPorts: [{ from: 443, to: 443 }] };

interface ConsoleOptions extends Pick<
  ConsoleContext,
  | "db"
  | "clock"
  | "ids"
  | "baseUrl"
  | "rateLimit"
  | "cursorCipher"
  | "stationMaps"
  | "files"
  | "mds"
  | "deprecatedRoutes"
  | "logger"
> {
  readonly secrets: AllSecrets;
  readonly rateLimits: RateLimits;
  readonly mail?: { readonly smtpUrl: string; readonly from: string } | undefined;
  readonly branding?: Branding;
  readonly mapTiles?: MapTiles | undefined;
  readonly longRideAfterMs?: number;
  /** The methods of signing in; passkeys and passwords by default. */
  readonly signInMethods?: ConsoleContext["signInMethods"];
  readonly identityProvider?: ProviderSettings | undefined;
  /** The addresses that webhooks may be sent to; public addresses on port 443 by default. */
  readonly webhooks?: AddressRules;
  /** The service's version, which receivers see. */
  readonly version: string;
  /** Milliseconds of a monotonic clock. Default: `clock`. */
  readonly monotonic?: () => number;
}

/** Makes the dependencies of the console's routes. Called once, when the service starts. */
export function createConsoleContext(given: ConsoleOptions): ConsoleContext {
  const { mail, branding, webhooks: webhookRules = PUBLIC_ADDRESSES, version, ...options } = given;
  const { signInMethods = ["passkey", "password"], identityProvider } = options;
  const { clock, monotonic = clock, longRideAfterMs = DEFAULT_LONG_RIDE_AFTER_MS } = options;
  return {
    ...options,
    longRideAfterMs,
    serviceName: branding?.name ?? DEFAULT_SERVICE_NAME,
    branding: {
      logo_url: branding?.logo === undefined ? null : logoUrl(branding.logo),
      color: branding?.color ?? null,
    },
    // Uses the encryption keys of webhook secrets, because values that sign-ins encrypt must survive restarts too.
    cipher: createTokenCipher(() => options.secrets.webhookKeys, SIGN_IN_PURPOSE),
    passwords: createPasswordHashing(),
    signInMethods,
    identityProvider: identityProvider && createIdentityProvider(identityProvider, clock),
    signInLimits: createSignInLimits(options.rateLimits),
    invitationLimits: createInvitationLimits(options.rateLimits),
    live: createLiveFeed(options.db, options.ids.next("live")),
    webhookCipher: createSecretCipher(() => options.secrets.webhookKeys),
    mailer: mail && createMailer(mail.smtpUrl, { from: mail.from }),
    webhookRules,
    undos: createRunningUndos(options),
    addressProber: createAddressProber({ rules: webhookRules, monotonic, userAgent: `bikeshare/${version}` }),
  };
}

/** A request whose reads may take long. Its `signal` is aborted when the caller disconnects. */
export type LongRequest = ConsoleRequest & Pick<FastifyRequest, "signal">;

/**
 * Database reads of pages that may take long. So that they do not take all connections from reservations, a partner has
 * one such read at a time, of its pages and its filtered lists together, and none begins after its caller has
 * disconnected.
 */
export interface LongReads {
  /** The database for services whose statements take long. */
  databaseFor(request: LongRequest): Queryable;
  /** Runs work whose statements together may take long. It counts as one read. */
  hold<Result>(request: LongRequest, work: () => Promise<Result>): Promise<Result>;
}

export function createLongReads(reads: FilteredReads): LongReads {
  return {
    databaseFor: (request) => reads.databaseFor(readerOf(request)),
    hold: (request, work) => reads.hold(readerOf(request), work),
  };
}

/** Returns the reader for whom long reads are counted: a partner, or each person of the operator for themselves. */
export function readerOf(request: LongRequest): ListReader {
  const { systemId, partnerId, actor } = consoleCaller(request);
  // Patient: the read of a page comes after those of the partner's programs, and may wait for longer.
  return { systemId, partnerId: partnerId ?? actor, signal: request.signal, isPatient: true };
}
