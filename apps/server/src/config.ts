import { resolve } from "node:path";
import { DEFAULT_RATE_LIMIT } from "@bikeshare/contract";
import { parseNetworks } from "./http/networks.ts";
import { type AddressRules, parsePorts, type PortRange } from "./webhooks/rules/receiver-url.ts";

/** What the process is told from outside, checked and frozen. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** What links and documents show as the base address; undefined: made from host and port. */
  readonly publicUrl: string | undefined;
  /** Undefined: we run our own PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Absolute. */
  readonly dataDir: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Networks whose `X-Forwarded-*` headers we believe. */
  readonly trustedProxies: readonly string[];
  /** Name of the first system. */
  readonly systemId: string;
  readonly mode: "live" | "test";
  /** Requests in any 60 s, for keys without a number of their own. */
  readonly rateLimit: number;
  readonly secretsFile: string | undefined;
  /** The live GBFS feed that the service follows; `every` in milliseconds. Undefined: none. */
  readonly gbfsSync: { readonly url: string; readonly every: number } | undefined;
  /** Where webhooks may be sent beside public addresses on port 443. */
  readonly webhooks: AddressRules;
  /** The mail server, and what mails are from. Undefined: mails are logged. */
  readonly mail: { readonly smtpUrl: string; readonly from: string } | undefined;
  /** Where metrics are served, on `host`. Undefined: nowhere. */
  readonly metricsPort: number | undefined;
  readonly logLevel: LogLevel;
}

/** Where every receiver is expected to listen. */
const HTTPS_PORT: PortRange = { from: 443, to: 443 };

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A variable has a value that the program cannot work with. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * Reads the configuration.
 * @throws ConfigError with every wrong variable's name, the value's fault and what is allowed
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>, directory: string): Config {
  const faults: string[] = [];
  const read = <Value>(name: string, fallback: Value, parse: (text: string) => Value): Value => {
    const text = env[name];
    if (text === undefined || text === "") return fallback;
    try {
      return parse(text);
    } catch (error) {
      faults.push(`${name}=${shown(name, text)}: ${error instanceof Error ? error.message : String(error)}`);
      return fallback;
    }
  };
  const certFile = read("TLS_CERT_FILE", undefined, (text): string | undefined => resolve(directory, text));
  const keyFile = read("TLS_KEY_FILE", undefined, (text): string | undefined => resolve(directory, text));
  if ((certFile === undefined) !== (keyFile === undefined)) {
    faults.push("TLS_CERT_FILE and TLS_KEY_FILE: set both, or neither");
  }
  const gbfsUrl = read("GBFS_SYNC_URL", undefined, (text): string | undefined => feedUrl(text));
  const gbfsEvery = read("GBFS_SYNC_EVERY", 30_000, duration(1_000, 86_400_000, "1s to 1d"));
  const publicUrl = read("PUBLIC_URL", undefined, (text): string | undefined => baseUrl(text));
  const smtpUrl = read("SMTP_URL", undefined, (text): string | undefined => mailServerUrl(text));
  const mailFrom = read("MAIL_FROM", senderAt(publicUrl), (text): string | undefined => mailSender(text));
  if (smtpUrl !== undefined && mailFrom === undefined && (env["MAIL_FROM"] ?? "") === "") {
    faults.push("MAIL_FROM: must be set beside SMTP_URL, to what mails are from, such as bikes@example.com");
  }
  const config: Config = {
    host: read("HOST", "127.0.0.1", hostName),
    port: read("PORT", 3000, wholeNumber(0, 65_535)),
    publicUrl,
    databaseUrl: read("DATABASE_URL", undefined, databaseUrl),
    dataDir: read("DATA_DIR", resolve(directory, ".bikeshare"), (text) => resolve(directory, text)),
    tls: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined,
    trustedProxies: read("TRUSTED_PROXIES", [], parseNetworks),
    systemId: read("SYSTEM_ID", "main", systemId),
    mode: read("MODE", "live", oneOf(["live", "test"])),
    rateLimit: read("RATE_LIMIT_PER_MINUTE", DEFAULT_RATE_LIMIT, wholeNumber(1, 1_000_000)),
    secretsFile: read("SECRETS_FILE", undefined, (text): string | undefined => resolve(directory, text)),
    gbfsSync: gbfsUrl === undefined ? undefined : { url: gbfsUrl, every: gbfsEvery },
    webhooks: {
      allowNetworks: read("WEBHOOK_ALLOW_NETWORKS", [], parseNetworks),
      allowPorts: read("WEBHOOK_ALLOW_PORTS", [HTTPS_PORT], parsePorts),
    },
    mail: smtpUrl === undefined || mailFrom === undefined ? undefined : { smtpUrl, from: mailFrom },
    metricsPort: read("METRICS_PORT", undefined, (text): number | undefined => wholeNumber(0, 65_535)(text)),
    logLevel: read("LOG_LEVEL", "info", oneOf(LOG_LEVELS)),
  };
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  return Object.freeze(config);
}

/** The environment of this process: the only place that looks at it. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

const SECRET_URLS: readonly string[] = ["DATABASE_URL", "GBFS_SYNC_URL", "SMTP_URL"];

/** A URL may hold a password, which must not reach a log. */
function shown(name: string, text: string): string {
  const isSecret = SECRET_URLS.includes(name) || (text.includes("@") && name !== "MAIL_FROM");
  return isSecret ? "(not shown)" : JSON.stringify(text);
}

function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new Error(`must be a whole number from ${least} to ${most}`);
    }
    return value;
  };
}

function oneOf<const Value extends string>(values: readonly Value[]) {
  return (text: string): Value => {
    const found = values.find((value) => value === text);
    if (found === undefined) throw new Error(`must be one of ${values.join(", ")}`);
    return found;
  };
}

function hostName(text: string): string {
  if (!/^[A-Za-z0-9.:_-]+$/.test(text)) throw new Error("must be a host name or an IP address, without a port");
  return text;
}

function systemId(text: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(text)) throw new Error("must be 1 to 255 visible ASCII characters");
  return text;
}

function baseUrl(text: string): string {
  const url = URL.parse(text);
  const whole =
    url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "" && url.username === "";
  if (!whole) throw new Error("must be an http or https URL without query, such as https://bikes.example.com");
  return text.replace(/\/+$/, "");
}

function mailServerUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") {
    throw new Error(
      "must be a URL such as smtp://user:password@mail.example.com:587, or smtps:// for TLS from the start",
    );
  }
  return text;
}

/** An address, or a name and an address; nothing that a second header could hide in. */
function mailSender(text: string): string {
  if (!/^(?:[^<>\r\n]+ )?<[^<>@\s,;]+@[^<>@\s,;]+>$|^[^<>@\s,;]+@[^<>@\s,;]+$/.test(text)) {
    throw new Error("must be a mail address, such as bikes@example.com or Example Bikes <bikes@example.com>");
  }
  return text;
}

/** What mails are from where nobody says: nobody, at the service's own host. Undefined where it has no public name. */
function senderAt(publicUrl: string | undefined): string | undefined {
  const host = publicUrl === undefined ? undefined : URL.parse(publicUrl)?.hostname;
  const isPublicName = host !== undefined && host.includes(".") && /[a-z]$/i.test(host);
  return isPublicName ? `no-reply@${host}` : undefined;
}

/** Feeds may want a key in their query; `fetch` refuses a name and password. */
function feedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new Error("must be the http or https URL of a gbfs.json, without user and password");
  }
  return text;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds. */
function duration(least: number, most: number, range: string) {
  return (text: string): number => {
    const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
    const value = Number(amount) * (UNITS[unit ?? ""] ?? Number.NaN);
    if (!(value >= least && value <= most)) throw new Error(`must be a duration from ${range}, such as 30s or 5m`);
    return value;
  };
}

function databaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new Error("must be a URL such as postgres://user:password@host:5432/database");
  }
  return text;
}
