import type { ServerOptions } from "node:https";
import type { FastifyBaseLogger } from "fastify";
import type { SignInMethod } from "./config.ts";
import type { ProviderSettings } from "./console/identity-provider/provider.ts";
import type { HttpMetrics } from "./health/metrics/http-metrics.ts";
import type { ActivityTracker } from "./health/tracing/activity.ts";
import type { Tracer } from "./health/tracing/tracer.ts";
import type { DashboardOptions } from "./http/dashboard.ts";
import type { RateLimits } from "./http/rate-limits/rate-limits.ts";
import type { Ids } from "./ids.ts";
import type { NetworkList } from "./outbound/addresses/network-list.ts";
import type { Branding } from "./runtime/startup/branding.ts";
import type { Database } from "./storage/db/database.ts";
import type { OutageGate } from "./storage/db/outage-gate.ts";
import type { ReplicaSettings } from "./storage/replica/open-reads.ts";
import type { AllSecrets } from "./storage/secrets/secrets.ts";
import type { AddressRules } from "./webhooks/rules/receiver-url.ts";

/** The parts of the service that differ between deployments. */
export interface AppOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly secrets: AllSecrets;
  readonly logger: FastifyBaseLogger;
  readonly version: string;
  /** The base address in documents. */
  readonly baseUrl: () => string;
  readonly rateLimit: number;
  /** Counts requests over all processes; by default in the memory of this one. */
  readonly rateLimits?: RateLimits;
  /** The mode of the keys that partners get from the dashboard; live by default. */
  readonly mode?: "live" | "test";
  /** Milliseconds after which a ride is under way for too long; a day, when left out. */
  readonly longRideAfterMs?: number;
  readonly trustedProxies: NetworkList;
  /** Counts the outcomes of requests. */
  readonly metrics?: HttpMetrics;
  /** Attributes statements to requests: the one that the database was opened with. */
  readonly activities?: ActivityTracker;
  readonly tracer?: Tracer | undefined;
  /** Requests that take longer are logged; 0, or left out: none are. */
  readonly slowRequestMs?: number;
  readonly https?: ServerOptions | undefined;
  /**
   * Makes reads and key look-ups wait during an outage of the database. `db` decides for itself whether it waits. Default:
   * they fail.
   */
  readonly outages?: OutageGate;
  /** Milliseconds of a monotonic clock, by which requests are counted. Default: `clock`. */
  readonly monotonic?: () => number;
  /** Concerns that `/readyz` reports in addition to its verdict. */
  readonly concerns?: () => readonly string[];
  /** Connections that callers may have open at once. */
  readonly maxConnections?: number;
  /** Requests in any 60 s that an address may make without a key. */
  readonly publicRateLimit?: number;
  /** Origins whose pages may read the partners' interface. */
  readonly corsOrigins?: readonly string[];
  /** Whether the reference is served at /docs. */
  readonly docs?: boolean;
  /** Contact for security reports, as a URI, in /.well-known/security.txt. */
  readonly securityContact?: string | undefined;
  /** The built pages, served at /dashboard. */
  readonly dashboard?: DashboardOptions;
  /** The mail server, and the sender of invitations. */
  readonly mail?: { readonly smtpUrl: string; readonly from: string } | undefined;
  readonly branding?: Branding;
  /** The methods of signing in to the dashboard; passkeys and passwords by default. */
  readonly signInMethods?: readonly SignInMethod[];
  readonly identityProvider?: ProviderSettings | undefined;
  /** The addresses that webhooks may be sent to. */
  readonly webhooks?: AddressRules;
  /** The replica that reads may go to. Without it all go to the primary. */
  readonly replica?: ReplicaSettings | undefined;
  /** Hears why a request could not be served at present. */
  readonly onUnavailable?: (error: unknown) => void;
}
