import { resolve } from "node:path";
import { DEFAULT_RATE_LIMIT } from "@bikeshare/contract";
import { DEFAULT_MAX_CONNECTIONS } from "./http/connections.ts";
import { parseOrigins } from "./http/cors.ts";
import { DEFAULT_PUBLIC_RATE_LIMIT } from "./http/public-limit.ts";
import { parseNetworks } from "./outbound/addresses/address-guard.ts";
import {
  baseUrl,
  chatRoomUrl,
  color,
  databaseUrl,
  domains,
  duration,
  feedUrl,
  headerPairs,
  hostName,
  integer,
  issuerUrl,
  mailAddresses,
  mailSender,
  mailServerUrl,
  oneOf,
  optional,
  otlpTracesUrl,
  redisUrl,
  securityContact,
  senderAt,
  severalOf,
  share,
  shownName,
  systemId,
  tilesUrl,
  warningsOfTypos,
} from "./runtime/startup/values.ts";
import type { BackupSchedule } from "./storage/backup/schedule.ts";
import { type AddressRules, parsePorts, type PortRange } from "./webhooks/rules/receiver-url.ts";

/** The configuration of the process, checked and frozen. */
export type Config = Readonly<ReturnType<typeof readVariables>> & {
  /** Warnings of variables whose names differ by a typo from a known name. */
  readonly warnings: readonly string[];
};

/** The only port that webhooks may use by default. */
const HTTPS_PORT: PortRange = { from: 443, to: 443 };

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** A variable has a value that the program cannot use. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  /** The condition's name in the log: see health/conditions/conditions.ts. */
  readonly condition = "wrong_configuration";
}

/**
 * Reads one variable. A variable that is unset, empty or invalid gets the fallback; an invalid one makes `readConfig` throw
 * in the end. `read(name, false, () => true)` tells whether a variable is set.
 */
type Read = <Value>(name: string, fallback: Value, parse: (text: string) => Value) => Value;

/**
 * Reads the configuration.
 * @param directory the directory from which relative paths are resolved
 * @throws ConfigError with the name of each wrong variable, the issue with its value and the allowed values
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>, directory: string): Config {
  const issues: string[] = [];
  /** The names of all variables that the program reads, set or not. */
  const names: string[] = [];
  const read: Read = (name, fallback, parse) => {
    names.push(name);
    const text = env[name];
    if (text === undefined || text === "") return fallback;
    try {
      return parse(text);
    } catch (error) {
      issues.push(`${name}=${shown(name, text)}: ${error instanceof Error ? error.message : String(error)}`);
      return fallback;
    }
  };
  const config = readVariables(read, (text) => resolve(directory, text), issues);
  if (issues.length > 0) throw new ConfigError(issues.join("\n"));
  return Object.freeze({ ...config, warnings: warningsOfTypos(env, names) });
}

/**
 * Reads every variable.
 * @param path makes a path absolute
 * @param issues an array to which issues with combinations of variables are added
 */
function readVariables(read: Read, path: (text: string) => string, issues: string[]) {
  /** The base URL in links and documents; undefined: made from host and port. */
  const publicUrl = read("PUBLIC_URL", undefined, optional(baseUrl));
  return {
    publicUrl,
    ...readPorts(read, issues),
    /** Undefined: an embedded PostgreSQL runs in `dataDir`. */
    databaseUrl: read("DATABASE_URL", undefined, optional(databaseUrl)),
    /** Undefined: all reads go to the primary. */
    databaseReplicaUrl: readReplicaUrl(read, issues),
    /** Undefined: each process counts the rate limits by itself. */
    redisUrl: read("REDIS_URL", undefined, optional(redisUrl)),
    /** The data directory, as an absolute path. */
    dataDir: read("DATA_DIR", path(".bikeshare"), path),
    /** The directory of export files. Undefined: a directory in `dataDir`. */
    exportsDir: read("EXPORTS_DIR", undefined, optional(path)),
    tls: readTlsFiles(read, path, issues),
    /** Networks whose `X-Forwarded-*` headers are trusted. */
    trustedProxies: read("TRUSTED_PROXIES", parseNetworks(""), parseNetworks),
    /** The id of the system that is created in an empty database. */
    systemId: read("SYSTEM_ID", "main", systemId),
    /** Whether `SYSTEM_ID` is set, so that `systemId` is not the default. */
    isSystemIdSet: read("SYSTEM_ID", false, () => true),
    /** The limit of requests in any 60 s for keys without a limit of their own. */
    rateLimit: read("RATE_LIMIT_PER_MINUTE", DEFAULT_RATE_LIMIT, integer(1, 1_000_000)),
    /** The limit of requests in any 60 s from one address without a key. */
    publicRateLimit: read("PUBLIC_RATE_LIMIT_PER_MINUTE", DEFAULT_PUBLIC_RATE_LIMIT, integer(1, 1_000_000)),
    /** The most connections that are open at the same time. */
    maxConnections: read("MAX_CONNECTIONS", DEFAULT_MAX_CONNECTIONS, integer(10, 1_000_000)),
    /** Origins that CORS allows to read the partner interface. */
    corsOrigins: read("CORS_ORIGINS", [], parseOrigins),
    /** Whether the guides and the reference are served at /docs. */
    docs: read("DOCS", "on", oneOf(["on", "off"])) === "on",
    /** Whether agents are answered at /mcp. */
    mcp: read("MCP", "on", oneOf(["on", "off"])) === "on",
    /** Whether agencies are served, by the Mobility Data Specification. */
    mds: read("MDS", "off", oneOf(["on", "off"])) === "on",
    /** Contact for reports of a weakness of this deployment. Undefined: no contact is published. */
    securityContact: read("SECURITY_CONTACT", undefined, optional(securityContact)),
    branding: readBrandingVariables(read, path),
    mapTiles: readMapTiles(read, issues),
    /** Origins whose pages may show the dashboard in a frame. */
    frameAncestors: read("DASHBOARD_FRAME_ANCESTORS", [], parseOrigins),
    ...readSignIn(read, publicUrl, issues),
    /** Undefined: `secrets.json` in `dataDir`. */
    secretsFile: read("SECRETS_FILE", undefined, optional(path)),
    gbfsSync: readFeed(read),
    /** The age at which the data of a feed are stale; undefined: it follows from each feed's `ttl`. */
    gbfsStaleAfterMs: read("GBFS_STALE_AFTER", undefined, optional(duration("1m", "30d"))),
    /** The time without a report of a station after which it is stale; undefined: it never is. */
    stationStaleAfterMs: read("GBFS_STATION_STALE_AFTER", undefined, optional(duration("10m", "30d"))),
    /** How long a ride may be under way before the operator is warned. */
    longRideAfterMs: read("LONG_RIDE_AFTER", 24 * 3_600_000, duration("1h", "30d")),
    backups: readBackups(read, path),
    webhooks: readAddressRules(read),
    mail: readMail(read, publicUrl, issues),
    /** The recipients of mails about problems that need the operator. Empty: no mail is sent, and problems are logged. */
    alertMailTo: read("ALERT_MAIL_TO", [], mailAddresses),
    /** An incoming webhook of a chat room that gets the same messages as `alertMailTo`. */
    alertWebhookUrl: read("ALERT_WEBHOOK_URL", undefined, optional(chatRoomUrl)),
    /**
     * Gigabytes (10^9 bytes) that the database may use on its disk. The service cannot ask another machine for the size of
     * its disk. Undefined: unknown.
     */
    databaseSizeLimitGb: read("DATABASE_SIZE_LIMIT_GB", undefined, optional(integer(1, 1_000_000))),
    /** Requests that take longer are logged, with the time spent on each cause. 0: none is logged. */
    slowRequestMs: read("SLOW_REQUEST_MS", 1_000, integer(0, 600_000)),
    tracing: readTracing(read),
    /** How long requests are accepted after a stop signal. Undefined: 5 s, but 0 s for `start` and on a terminal. */
    drainDelayMs: read("DRAIN_DELAY", undefined, optional(duration("0s", "5m"))),
    /** For how long the process may hang before it ends itself. */
    hangTimeoutMs: read("HANG_TIMEOUT", 60_000, duration("5s", "1d")),
    /** The operator key of the service that `simulate --url` names. */
    operatorKey: read("OPERATOR_KEY", undefined, optional(String)),
    logLevel: read("LOG_LEVEL", "info", oneOf(LOG_LEVELS)),
    /** Undefined: text on a terminal, JSON elsewhere. */
    logFormat: read("LOG_FORMAT", undefined, optional(oneOf(["json", "text"]))),
  };
}

/** Reads the addresses to listen on. A port of 0 lets the operating system choose a free one, so both may be 0. */
function readPorts(read: Read, issues: string[]) {
  const port = read("PORT", 3000, integer(0, 65_535));
  const metricsPort = read("METRICS_PORT", undefined, optional(integer(0, 65_535)));
  if (metricsPort === port && port !== 0) issues.push(`METRICS_PORT=${port}: is PORT's too; it must be another port`);
  return {
    host: read("HOST", "127.0.0.1", hostName),
    port,
    /** The address on which metrics are served. They are served only if `metricsPort` is set. */
    metricsHost: read("METRICS_HOST", "127.0.0.1", hostName),
    metricsPort,
  };
}

/** Reads the replica's URL. The embedded database cannot have a replica: it would be on the same machine and of no use. */
function readReplicaUrl(read: Read, issues: string[]): string | undefined {
  const url = read("DATABASE_REPLICA_URL", undefined, optional(databaseUrl));
  if (url !== undefined && !read("DATABASE_URL", false, () => true)) {
    issues.push("DATABASE_REPLICA_URL: needs DATABASE_URL beside it, the primary that it follows");
  }
  return url;
}

/** Reads the files of the certificate. Undefined: requests are answered over plain HTTP. */
function readTlsFiles(read: Read, path: (text: string) => string, issues: string[]) {
  const certFile = read("TLS_CERT_FILE", undefined, optional(path));
  const keyFile = read("TLS_KEY_FILE", undefined, optional(path));
  if ((certFile === undefined) !== (keyFile === undefined)) {
    issues.push("TLS_CERT_FILE and TLS_KEY_FILE: set both, or neither");
  }
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
}

/** Reads the operator's name, logo and colour for the dashboard. */
function readBrandingVariables(read: Read, path: (text: string) => string) {
  return {
    name: read("DASHBOARD_NAME", undefined, optional(shownName)),
    logoFile: read("DASHBOARD_LOGO_FILE", undefined, optional(path)),
    color: read("DASHBOARD_COLOUR", undefined, optional(color)),
  };
}

/**
 * Reads the source of street pictures for maps. Undefined: maps use an archive in the data directory; without an archive
 * they show no streets. An attribution without an address is that of the archive.
 */
function readMapTiles(read: Read, issues: string[]) {
  const url = read("MAP_TILES_URL", undefined, optional(tilesUrl));
  const attribution = read("MAP_TILES_ATTRIBUTION", undefined, optional(shownName));
  if (url !== undefined && attribution === undefined)
    issues.push("MAP_TILES_URL: set MAP_TILES_ATTRIBUTION too. Maps must name their makers");
  return url === undefined && attribution === undefined ? undefined : { url, attribution };
}

const SIGN_IN_METHODS = ["passkey", "password", "oidc"] as const;
/** A method of signing in to the dashboard; `oidc`: at the operator's identity provider. */
export type SignInMethod = (typeof SIGN_IN_METHODS)[number];

/** Reads the methods of signing in to the dashboard, and the identity provider (OpenID Connect) if there is one. */
function readSignIn(read: Read, publicUrl: string | undefined, issues: string[]) {
  const issuer = read("OIDC_ISSUER", undefined, optional(issuerUrl));
  const clientId = read("OIDC_CLIENT_ID", undefined, optional(String));
  const clientSecret = read("OIDC_CLIENT_SECRET", undefined, optional(String));
  const name = read("OIDC_NAME", issuer === undefined ? "" : new URL(issuer).hostname, shownName);
  const emailDomains = read("OIDC_EMAIL_DOMAINS", undefined, optional(domains));
  const possible = SIGN_IN_METHODS.filter((method) => method !== "oidc" || issuer !== undefined);
  const signInMethods = read("SIGN_IN_METHODS", possible, severalOf(SIGN_IN_METHODS));
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    const isIssuerWrong = issuer === undefined && read("OIDC_ISSUER", false, () => true);
    const isBegun = [issuer, clientId, clientSecret].some((value) => value !== undefined);
    // A wrong issuer has already been added to the issues.
    if (isIssuerWrong) return { signInMethods, identityProvider: undefined };
    if (isBegun) issues.push("OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET: set all three, or none");
    else if (signInMethods.includes("oidc")) issues.push("SIGN_IN_METHODS: oidc needs OIDC_ISSUER");
    return { signInMethods, identityProvider: undefined };
  }
  if (publicUrl === undefined)
    issues.push("PUBLIC_URL: must be set beside OIDC_ISSUER: the provider sends browsers back to it");
  return { signInMethods, identityProvider: { issuer, clientId, clientSecret, name, emailDomains } };
}

/** Reads the GBFS feed that the service follows. Undefined: none. */
function readFeed(read: Read) {
  const url = read("GBFS_SYNC_URL", undefined, optional(feedUrl));
  const intervalMs = read("GBFS_SYNC_EVERY", 30_000, duration("1s", "1d"));
  return url === undefined ? undefined : { url, intervalMs };
}

/** Reads the schedule of backups. Undefined: the service makes no backups by itself. */
function readBackups(read: Read, path: (text: string) => string): BackupSchedule | undefined {
  const directory = read("BACKUP_DIR", undefined, optional(path));
  const intervalMs = read("BACKUP_EVERY", 24 * 3_600_000, duration("1h", "30d"));
  const keep = read("BACKUP_KEEP", 7, integer(1, 1_000));
  return directory === undefined ? undefined : { directory, intervalMs, keep };
}

/** Reads which networks webhooks may be sent to in addition to public addresses, and the only ports that they may use. */
function readAddressRules(read: Read): AddressRules {
  return {
    allowNetworks: read("WEBHOOK_ALLOW_NETWORKS", parseNetworks(""), parseNetworks),
    allowPorts: read("WEBHOOK_ALLOW_PORTS", [HTTPS_PORT], parsePorts),
  };
}

/** Reads the mail server and the sender of mails. Undefined: no mail is sent. */
function readMail(read: Read, publicUrl: string | undefined, issues: string[]) {
  const smtpUrl = read("SMTP_URL", undefined, optional(mailServerUrl));
  const from = read("MAIL_FROM", senderAt(publicUrl), optional(mailSender));
  // A MAIL_FROM that is set but wrong has already been added to the issues.
  const isFromSet = read("MAIL_FROM", false, () => true);
  if (smtpUrl !== undefined && from === undefined && !isFromSet) {
    issues.push("MAIL_FROM: must be set beside SMTP_URL, to what mails are from, such as bikes@example.com");
  }
  return smtpUrl === undefined || from === undefined ? undefined : { smtpUrl, from };
}

/** Reads the receiver of traces from OpenTelemetry's standard variables. Undefined: no traces are made. */
function readTracing(read: Read) {
  const endpoint = read("OTEL_EXPORTER_OTLP_ENDPOINT", undefined, optional(otlpTracesUrl));
  const headers = read("OTEL_EXPORTER_OTLP_HEADERS", {}, headerPairs);
  const serviceName = read("OTEL_SERVICE_NAME", "bikeshare", String);
  const ratio = read("OTEL_TRACES_SAMPLER_ARG", 0.1, share);
  return endpoint === undefined ? undefined : { endpoint, headers, serviceName, ratio };
}

/** Returns the environment of this process. Nothing else reads it. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** Variables whose values must not reach a log. */
const SECRETS: readonly string[] = [
  "ALERT_WEBHOOK_URL",
  "DATABASE_REPLICA_URL",
  "DATABASE_URL",
  "GBFS_SYNC_URL",
  "OIDC_CLIENT_SECRET",
  "OPERATOR_KEY",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "REDIS_URL",
  "SMTP_URL",
];

/** Returns a value for an error message. Hides secrets and URLs that may contain a password: they must not reach a log. */
function shown(name: string, text: string): string {
  const isSecret = SECRETS.includes(name) || (text.includes("@") && name !== "MAIL_FROM");
  return isSecret ? "(not shown)" : JSON.stringify(text);
}
