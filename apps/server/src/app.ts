import type { ServerOptions } from "node:https";
import { gbfsContract, mcpContract, operatorContract, partnerContract } from "@bikeshare/contract";
import { sandboxContract } from "@bikeshare/contract/sandbox";
import { createMemoryRateLimiter } from "@bikeshare/rules";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { alertRoutes, operatorAlertList } from "./city/alerts/routes.ts";
import { bikeRoutes } from "./city/bikes/routes.ts";
import { factRoutes, systemRoutes } from "./city/descriptions/routes.ts";
import { operatorRoutes } from "./city/fleet/routes.ts";
import { stationSumRoutes, sumRoutes } from "./city/history/sum-routes.ts";
import { reservationRoutes } from "./city/reservations/routes.ts";
import { createRideMemory, learnRideDays, type RideMemory } from "./city/rides/memory.ts";
import { rideRoutes } from "./city/rides/routes.ts";
import { stationRoutes } from "./city/stations/routes.ts";
import { systemsOf } from "./city/systems/service.ts";
import type { SignInMethod } from "./config.ts";
import { createConsoleAuthorizer } from "./console/authorize.ts";
import { type ConsoleContext, createConsoleContext } from "./console/context.ts";
import { dashboardLinkRoutes } from "./console/dashboard-links/routes.ts";
import type { ProviderSettings } from "./console/identity-provider/provider.ts";
import { serveConsole } from "./console/routes.ts";
import { STATION_MAP_MIN_AGE_MS } from "./console/stations-routes.ts";
import { createEventBlocks } from "./events/event-blocks.ts";
import { eventRoutes } from "./events/routes.ts";
import { createDownloadLinks, createFileSender, DOWNLOAD_PURPOSE } from "./feeds/exports/downloads.ts";
import { exportRoutes, serveDownloads } from "./feeds/exports/routes.ts";
import { exportsDirectory } from "./feeds/exports/service.ts";
import { createSystemList } from "./feeds/gbfs-out/discovery.ts";
import { FEED_MIN_AGE_MS, gbfsRoutes, type KeptPage } from "./feeds/gbfs-out/routes.ts";
import type { MdsContext } from "./feeds/mds/routes.ts";
import type { AgencyTokens } from "./feeds/mds/tokens.ts";
import type { HttpMetrics } from "./health/metrics/http-metrics.ts";
import { uncounted } from "./health/metrics/metrics.ts";
import { type ActivityTracker, createActivityTracker } from "./health/tracing/activity.ts";
import type { Tracer } from "./health/tracing/tracer.ts";
import type { CompromisedKeysOptions } from "./http/authenticate.ts";
import { authorizeRequests } from "./http/authorize.ts";
import { announceDeprecations, bindContract } from "./http/bind.ts";
import { DEFAULT_MAX_CONNECTIONS } from "./http/connections.ts";
import { allowOrigins } from "./http/cors.ts";
import { createCursorCipher, type CursorCipher } from "./http/cursor.ts";
import { type DashboardOptions, serveDashboard } from "./http/dashboard.ts";
import { serveDocuments, serveSecurityContact } from "./http/documents.ts";
import { answerUnknownRoutes } from "./http/errors.ts";
import { healthRoutes } from "./http/health.ts";
import { logRequests } from "./http/logged-requests.ts";
import { mcpRoutes } from "./http/mcp/routes.ts";
import { createPublicLimit, DEFAULT_PUBLIC_RATE_LIMIT } from "./http/public-limit.ts";
import { createMemoryRateLimits, type RateLimits } from "./http/rate-limits/rate-limits.ts";
import { takeTurns } from "./http/read-turns.ts";
import { createRefusedRequests } from "./http/refused-requests.ts";
import { refuseMalformedRequests } from "./http/request-form.ts";
import { measureRequests } from "./http/request-records.ts";
import { answerConditionally, compressAnswers, type ReadyBody, sendExactJsonType } from "./http/response-body.ts";
import { createHttpServer, sendStrictTransport } from "./http/server.ts";
import { refuseAfterStandstill } from "./http/standstill.ts";
import { closeConnectionsWhenDraining } from "./http/stopping.ts";
import { createTransport, withProxyWarnings } from "./http/transport.ts";
import type { Ids } from "./ids.ts";
import type { NetworkList } from "./outbound/addresses/address-guard.ts";
import {
  createKeyCache,
  createLastUses,
  type KeyCache,
  keysFor,
  lookUpTogether,
  recordUses,
} from "./partners/keys/look-ups.ts";
import { meRoutes } from "./partners/keys/routes.ts";
import { markKeyAsCompromised } from "./partners/keys/service.ts";
import type { Branding } from "./runtime/startup/dashboard-pages.ts";
import { sandboxRoutes, simulateFaults } from "./sandbox/routes.ts";
import { createPageCache, type PageCache } from "./storage/background/page-cache.ts";
import { openRequestConnections, type RequestConnections } from "./storage/db/connections.ts";
import type { Database } from "./storage/db/database.ts";
import { isUnavailable } from "./storage/db/errors.ts";
import { openListener } from "./storage/db/listener.ts";
import type { OutageGate } from "./storage/db/outage-gate.ts";
import { FILTERED_STATEMENT_TIMEOUT_MS } from "./storage/lists/read-context.ts";
import { createRowMemory } from "./storage/lists/row-memory.ts";
import { openListReads, type ReplicaSettings } from "./storage/replica/service.ts";
import { createTokenCipher } from "./storage/secrets/encryption.ts";
import type { AllSecrets } from "./storage/secrets/secrets.ts";
import { partnerDeliveryRoutes } from "./webhooks/log/routes.ts";
import type { AddressRules } from "./webhooks/rules/receiver-url.ts";

/*
 * Composes the application: opens its connections and caches, and registers its hooks and routes. Hooks run in the order in
 * which they are registered. The console is the interface at /console that the dashboard's pages call.
 */

/** The dependencies and settings of the application. */
export interface AppOptions {
  readonly db: Database;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  readonly secrets: AllSecrets;
  readonly logger: FastifyBaseLogger;
  readonly version: string;
  /** Returns the base address for links and documents. */
  readonly baseUrl: () => string;
  /** The limit of requests in any 60 s for keys without a limit of their own. */
  readonly rateLimit: number;
  /** The rate limits, which hold over all processes if possible. Default: each process counts in its own memory. */
  readonly rateLimits?: RateLimits;
  /** Milliseconds after which a ride under way counts as too long. Default: a day. */
  readonly longRideAfterMs?: number;
  readonly trustedProxies: NetworkList;
  /** Counts the outcomes of requests. */
  readonly metrics?: HttpMetrics;
  /** Assigns statements to requests. Must be the tracker that `db` was opened with. */
  readonly activities?: ActivityTracker;
  readonly tracer?: Tracer | undefined;
  /** Requests that take longer are logged; 0 or left out: none is logged. */
  readonly slowRequestMs?: number;
  readonly https?: ServerOptions | undefined;
  /**
   * Makes reads and key look-ups wait during an outage of the database. Default: they fail. Has no effect on `db`, which may
   * wait itself.
   */
  readonly outages?: OutageGate;
  /**
   * Milliseconds of a clock that never goes back, for what only this process counts, such as requests without a valid key.
   * Default: `clock`.
   */
  readonly monotonic?: () => number;
  /** Concerns that `/readyz` lists in its response. */
  readonly concerns?: () => readonly string[];
  /** The most connections that callers may have open at the same time. Default: `DEFAULT_MAX_CONNECTIONS`. */
  readonly maxConnections?: number;
  /** The most requests in any 60 s that an address may make without a key. Default: `DEFAULT_PUBLIC_RATE_LIMIT`. */
  readonly publicRateLimit?: number;
  /** Origins whose pages may read the partners' interface. Default: none. */
  readonly corsOrigins?: readonly string[];
  /** Whether the guides and the reference are served at /docs. Default: they are. */
  readonly docs?: boolean;
  /** Whether AI agents are answered at /mcp, by the Model Context Protocol. Default: they are. */
  readonly mcp?: boolean;
  /** Contact for security reports, as a URI, in /.well-known/security.txt. Undefined: there is no such file. */
  readonly securityContact?: string | undefined;
  /** The directory of export files. Default: a directory in `dataDir`. */
  readonly exportsDir?: string | undefined;
  readonly dataDir: string;
  /** Whether agencies are served: the Mobility Data Specification at /mds. Default: they are not. */
  readonly mds?: boolean;
  /** The built pages, served at /dashboard. Without them there is no dashboard. */
  readonly dashboard?: DashboardOptions;
  /** The mail server, and the address that mails are from. Undefined: no mail is sent. */
  readonly mail?: { readonly smtpUrl: string; readonly from: string } | undefined;
  readonly branding?: Branding;
  /** The methods of signing in to the dashboard; passkeys and passwords by default. */
  readonly signInMethods?: readonly SignInMethod[];
  readonly identityProvider?: ProviderSettings | undefined;
  /** The addresses that webhooks may be sent to. Default: public addresses on port 443. */
  readonly webhooks?: AddressRules;
  /** The replica that reads may go to. Without it all reads go to the primary. */
  readonly replica?: ReplicaSettings | undefined;
  /**
   * Called with the error when a request could not be served, or a compromised key not marked, because the database is
   * unavailable.
   */
  readonly onUnavailable?: (error: unknown) => void;
}

/** The composed application, ready to listen. */
export interface App {
  readonly http: FastifyInstance;
  /** Tells load balancers to send no more requests, and callers to close their connections. */
  readonly drain: () => void;
}

/**
 * Time between two runs of maintenance: they write the keys' last uses, remove expired rate-limit counts, and log refused
 * requests.
 */
const MAINTENANCE_INTERVAL_MS = 15_000;

/** Composes the whole application. A part that opens a resource also registers an `onClose` hook that closes it. */
export async function buildApp(given: AppOptions): Promise<App> {
  const defaults = { rateLimits: createMemoryRateLimits(given.clock), activities: createActivityTracker() };
  const options = { ...defaults, ...given };
  const { db, clock, ids, rateLimits, metrics = uncounted.http, concerns = () => [] } = options;
  const nextRequestId = () => ids.next("req");
  const http = createHttpServer({ maxConnections: DEFAULT_MAX_CONNECTIONS, ...options, nextRequestId });
  // Comes before every hook that may refuse a request.
  if (options.https !== undefined) sendStrictTransport(http);
  answerUnknownRoutes(http);
  measureRequests(http, { ...options, metrics: metrics.requests });
  // Refuses writes that may have waited while the process stood still, as in a frozen virtual machine.
  refuseAfterStandstill(http);
  const connections = openConnections(http, options);
  logRequests(http, { ...options, metrics });
  const caches = openCaches(http, options, connections);
  allowOrigins(http, options.corsOrigins ?? []);
  const cursorCipher = createCursorCipher(() => options.secrets.cursorKeys);
  const deprecatedRoutes = announceDeprecations(http);
  // The default comes first: `exportsDirectory` requires the option, whose value may be undefined.
  const files = createFileSender(exportsDirectory({ exportsDir: undefined, ...options }));
  const forConsole = { cursorCipher, files, stationMaps: caches.stationMaps, deprecatedRoutes };
  const consoleContext = createConsoleContext({ ...options, ...forConsole, mapTiles: options.dashboard?.mapTiles });
  const tokens = await openAgencyTokens(connections, options);
  registerAuthorization(http, { ...options, tokens }, caches.keys, consoleContext);
  // Lets only a few reads of each partner run at the same time.
  takeTurns(http);
  refuseMalformedRequests(http);
  showCallersTheirWrites(http, caches);
  const draining = closeConnectionsWhenDraining(http);
  answerConditionally(http);
  await compressAnswers(http);
  sendExactJsonType(http);

  const reads = openListReads(connections, { ...options, metrics });
  http.addHook("onClose", () => reads.close());
  // `vital`: checks whether the database is reachable, and key look-ups. `filtered`: lists whose cost depends on
  // filters.
  const pools = { general: db.usage, vital: connections.vital.usage, filtered: connections.filtered.usage };
  metrics.watch({ pools, filteredReads: reads.filtered.usage, listening: caches.listening, rateLimits });
  const rowMemory = createRowMemory({ db, readPool: connections.readPool, follow: reads.changes });
  const readContext = { ...reads, rowMemory, ...rememberRides(http, options) };
  // Download links are encrypted with the keys for webhook secrets. `DOWNLOAD_PURPOSE` tells them from other tokens.
  const linkKeys = () => options.secrets.webhookKeys;
  const links = createDownloadLinks(createTokenCipher(linkKeys, DOWNLOAD_PURPOSE), options);
  bindContract(http, partnerContract, {
    ...cityRoutes({ ...readContext, db, clock, ids }, cursorCipher, caches.stationPages),
    exports: exportRoutes(readContext, links, cursorCipher),
    me: meRoutes({ db, clock }),
    health: healthRoutes({ pingDatabase: connections.check, isDraining: draining.is, concerns }),
  });
  bindOtherInterfaces(http, options, operatorAlertList({ ...readContext, clock }, cursorCipher));
  serveConsole(http, consoleContext, readContext);
  serveDownloads(http, { db, links, files });
  publishFeeds(http, options, caches.gbfsPages);
  await serveAgencies(http, { ...options, filtered: reads.filtered, cursors: cursorCipher }, tokens);
  servePages(http, options);
  return { http, drain: draining.begin };
}

/** Returns the routes for the city's data, for partners' reservations, and for their deliveries. */
function cityRoutes(
  context: Parameters<typeof stationRoutes>[0] &
    Parameters<typeof rideRoutes>[0] &
    Parameters<typeof reservationRoutes>[0] &
    Parameters<typeof partnerDeliveryRoutes>[0] &
    Omit<Parameters<typeof eventRoutes>[0], "eventBlocks">,
  cursorCipher: CursorCipher,
  stationPages: PageCache<ReadyBody>,
) {
  return {
    stations: { ...stationRoutes(context, cursorCipher, stationPages), ...stationSumRoutes(context) },
    ...systemRoutes(context, cursorCipher),
    alerts: alertRoutes(context, cursorCipher),
    rides: rideRoutes(context, cursorCipher),
    bikes: bikeRoutes(context, cursorCipher),
    reservations: reservationRoutes(context, cursorCipher),
    events: eventRoutes({ ...context, eventBlocks: createEventBlocks() }, cursorCipher),
    deliveries: partnerDeliveryRoutes(context, cursorCipher),
    ...sumRoutes(context, cursorCipher),
  };
}

/** Binds the interfaces for sandboxes (/sandbox/v1), for AI agents (/mcp) and for the operator's backend (/operator/v1). */
function bindOtherInterfaces(
  http: FastifyInstance,
  options: AppOptions,
  alertList: ReturnType<typeof operatorAlertList>,
): void {
  bindContract(http, sandboxContract, sandboxRoutes(options));
  if (options.mcp ?? true) bindContract(http, mcpContract, mcpRoutes(http, options));
  bindContract(http, operatorContract, {
    ...operatorRoutes(options, alertList),
    ...factRoutes(options),
    dashboardLinks: dashboardLinkRoutes({
      ...options,
      cipher: createTokenCipher(() => options.secrets.webhookKeys, "dashboard link"),
      frameAncestors: options.dashboard?.frameAncestors ?? [],
    }),
  });
}

/** Opens the connections for requests, which close with the application. */
function openConnections(http: FastifyInstance, { db, logger, outages, activities }: AppOptions): RequestConnections {
  const connections = openRequestConnections({
    connectionString: db.connectionString,
    outages,
    observer: activities,
    filteredStatementTimeoutMs: FILTERED_STATEMENT_TIMEOUT_MS,
    onConnectionLost: ({ message }) => logger.debug({ reason: message }, "idle database connection lost"),
  });
  // Fastify calls `onClose` hooks in reverse order: registered first, these connections are closed last.
  http.addHook("onClose", () => connections.close());
  return connections;
}

/** Creates this process's memory of past rides, and reads their days ahead of requests once the application listens. */
function rememberRides(http: FastifyInstance, { db, clock }: AppOptions): RideMemory {
  const memory = createRideMemory(db, clock);
  // Not awaited: the first requests are answered meanwhile.
  http.addHook("onListen", (done) => {
    learnRideDays(db, memory).catch(() => undefined);
    done();
  });
  return memory;
}

/** Serves the OpenAPI documents, the guides and the reference, the security contact, and the dashboard if it has pages. */
function servePages(http: FastifyInstance, options: AppOptions): void {
  serveDocuments(http, { ...options, hasReference: options.docs ?? true });
  if (options.securityContact !== undefined) {
    serveSecurityContact(http, { ...options, contact: options.securityContact });
  }
  if (options.dashboard !== undefined) serveDashboard(http, options.dashboard);
}

/** Serves the public feeds. */
function publishFeeds(
  http: FastifyInstance,
  { db, clock, ids, baseUrl }: AppOptions,
  pages: PageCache<KeptPage>,
): void {
  const systems = createSystemList({
    read: async () => (await systemsOf(db)).map(({ system_id }) => system_id),
    clock,
  });
  bindContract(http, gbfsContract, gbfsRoutes({ db, clock, ids, baseUrl }, systems, pages));
}

/**
 * Returns the access tokens of agencies; undefined: agencies are not served. Imports the module only if they are, so that
 * other services start faster.
 */
async function openAgencyTokens(
  { vital: db }: RequestConnections,
  { mds, clock, secrets }: AppOptions,
): Promise<AgencyTokens | undefined> {
  if (mds !== true) return undefined;
  const { createAgencyTokens } = await import("./feeds/mds/tokens.ts");
  return createAgencyTokens({ db, clock, keys: () => secrets.webhookKeys });
}

/** Serves the Mobility Data Specification to agencies. @param tokens undefined: no agencies are served */
async function serveAgencies(
  http: FastifyInstance,
  context: Omit<MdsContext, "tokens" | "places">,
  tokens: AgencyTokens | undefined,
): Promise<void> {
  if (tokens === undefined) return;
  const { hourPlaces, mdsRoutes, prepareForMds } = await import("./feeds/mds/routes.ts");
  const { mdsContract } = await import("@bikeshare/contract/mds");
  await http.register((part, _options, done) => {
    prepareForMds(part);
    bindContract(part, mdsContract, mdsRoutes({ ...context, tokens, places: hourPlaces() }));
    done();
  });
}

/** What this process keeps in memory, and clears when a notification reports a change. */
interface Caches {
  /** Whether notifications of changes arrive at present. */
  readonly listening: () => boolean;
  readonly keys: KeyCache;
  /** Pages of the partners' list of stations. */
  readonly stationPages: PageCache<ReadyBody>;
  /** The stations on the dashboard's map. */
  readonly stationMaps: PageCache<ReadyBody>;
  /** The public feeds. */
  readonly gbfsPages: PageCache<KeptPage>;
}

/** Creates the caches, and listens for the notifications that clear them. */
function openCaches(
  http: FastifyInstance,
  { db, clock }: AppOptions,
  { vital, keys: keyLookups }: RequestConnections,
): Caches {
  // The listener is opened last, because it clears the caches; they call this function only later.
  const listening = () => listener.listening();
  const find = lookUpTogether((presented: readonly string[]) => keysFor({ db: keyLookups }, presented));
  const keys = createKeyCache({ find, listening, clock });
  const stationPages = createPageCache<ReadyBody>({ clock, listening });
  const stationMaps = createPageCache<ReadyBody>({ clock, listening, minAgeMs: STATION_MAP_MIN_AGE_MS });
  const gbfsPages = createPageCache<KeptPage>({ clock, listening, minAgeMs: FEED_MIN_AGE_MS });
  const listener = openListener({
    connectionString: db.connectionString,
    notifier: vital,
    on: {
      keys: () => keys.clear(),
      stations: (systemId) => {
        stationPages.clear(systemId);
        stationMaps.clear(systemId);
        gbfsPages.clear(systemId);
      },
      bikes: (systemId) => gbfsPages.clear(systemId),
    },
    onGap: () => {
      keys.clear();
      stationPages.clearAll();
      stationMaps.clearAll();
      gbfsPages.clearAll();
    },
  });
  http.addHook("onClose", () => listener.close());
  return { listening, keys, stationPages, stationMaps, gbfsPages };
}

/** Paths of commands that may change a sandbox's faults or when its keys expire. Cached keys contain both. */
const CHANGES_KEYS = /^\/sandbox\/v1\/(faults|clock|reset)/;

/**
 * Clears a system's cached pages of stations before a write to it is answered, and the cached keys after a command of
 * `CHANGES_KEYS`. The notification that clears them everywhere arrives some milliseconds after the commit, but a caller
 * must be able to read its own write at once. A rejected request wrote nothing, so it clears nothing.
 */
function showCallersTheirWrites(http: FastifyInstance, { stationPages, keys }: Caches): void {
  http.addHook("onSend", (request, reply, payload, done) => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    const isDone = reply.statusCode < 400;
    // A request to /mcp (`recordedAs` is set) writes nothing itself. It calls endpoints by requests within the process, and
    // each of those comes through this hook.
    const isCommand = !isRead && request.recordedAs === undefined;
    if (isCommand && isDone && request.caller !== undefined) {
      stationPages.clear(request.caller.key.system_id);
      if (CHANGES_KEYS.test(request.routeOptions.url ?? "")) keys.clear();
    }
    done(null, payload);
  });
}

/** Registers the checks of every request (transport, key, scope, rate limit) and starts their maintenance. */
function registerAuthorization(
  http: FastifyInstance,
  options: AppOptions & { readonly rateLimits: RateLimits; readonly tokens: AgencyTokens | undefined },
  keys: KeyCache,
  { signInLimits, invitationLimits, addressProber }: ConsoleContext,
): void {
  const { db, clock, logger, monotonic = clock } = options;
  const lastUses = createLastUses((uses) => recordUses(db, uses));
  const limiter = options.rateLimits.limiter("key");
  // Requests without a valid key, and keys that others may have read, are counted in this process only: a flood of them
  // must not reach the store that all processes share.
  const wrongCredentials = createMemoryRateLimiter(monotonic);
  const compromises = createMemoryRateLimiter(monotonic);
  const publicRequests = createMemoryRateLimiter(monotonic);
  const refusedRequests = createRefusedRequests({ metrics: options.metrics ?? uncounted.http, log: logger, clock });
  const publicLimit = createPublicLimit(
    publicRequests,
    options.publicRateLimit ?? DEFAULT_PUBLIC_RATE_LIMIT,
    refusedRequests,
  );
  const consoleAuthorizer = createConsoleAuthorizer({
    ...options,
    countPublic: (address) => publicLimit.count(address),
  });
  const maintenance = setInterval(() => {
    const limiters = [limiter, wrongCredentials, compromises, publicRequests];
    const others = [consoleAuthorizer, signInLimits, invitationLimits, addressProber];
    for (const windows of [...limiters, ...others]) windows.sweep();
    refusedRequests.flush();
    lastUses.flush().catch((error: unknown) => logger.warn({ err: error }, "last use of keys not recorded"));
  }, MAINTENANCE_INTERVAL_MS);
  http.addHook("onClose", async () => {
    clearInterval(maintenance);
    await lastUses.flush().catch(() => undefined);
  });
  authorizeRequests(http, {
    transport: withProxyWarnings(createTransport(options.trustedProxies), logger),
    keys,
    clock,
    wrongCredentials,
    refusedRequests,
    limiter,
    publicLimit,
    tokens: options.tokens,
    authorizeConsole: (request, reply) => consoleAuthorizer.authorize(request, reply),
    rateLimit: options.rateLimit,
    lastUses,
    compromisedKeys: { keys, limiter: compromises, refusedRequests, ...markingOfKeys(options) },
  });
  // Must come after the authorization, which finds the key: the key tells whether its sandbox has faults.
  simulateFaults(http, options);
}

/** Returns the functions that mark compromised keys in the database, and report a failure of that. */
function markingOfKeys(options: AppOptions): Pick<CompromisedKeysOptions, "markCompromised" | "onFailed"> {
  const { db, clock, ids, logger } = options;
  return {
    markCompromised: (key, where) => markKeyAsCompromised({ db, clock, ids, actor: "server" }, key, where),
    onFailed: (error) => {
      if (isUnavailable(error)) options.onUnavailable?.(error);
      else logger.error({ err: error }, "a key is compromised, but could not be marked");
    },
  };
}
