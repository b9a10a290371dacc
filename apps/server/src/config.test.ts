import { expect, it } from "vitest";
import { ConfigError, readConfig } from "./config.ts";
import { NetworkList } from "./outbound/addresses/address-guard.ts";

const directory = "/srv/bikes";

function issueOf(env: Record<string, string>): string {
  try {
    readConfig(env, directory);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "";
}

it("without any variable is a service on loopback with its own database beside it", () => {
  expect(readConfig({}, directory)).toMatchObject({
    host: "127.0.0.1",
    port: 3000,
    publicUrl: undefined,
    databaseUrl: undefined,
    dataDir: "/srv/bikes/.bikeshare",
    tls: undefined,
    trustedProxies: new NetworkList([]),
    systemId: "main",
    rateLimit: 60,
    secretsFile: undefined,
    gbfsSync: undefined,
    webhooks: { allowNetworks: new NetworkList([]), allowPorts: [{ from: 443, to: 443 }] },
    mail: undefined,
    metricsHost: "127.0.0.1",
    metricsPort: undefined,
    drainDelayMs: undefined,
    hangTimeoutMs: 60_000,
    operatorKey: undefined,
    isSystemIdSet: false,
    logLevel: "info",
    logFormat: undefined,
    warnings: [],
  });
});

it("takes what the variables say, paths from the directory it is started in", () => {
  const env = {
    HOST: "::",
    PORT: "0",
    PUBLIC_URL: "https://bikes.example.com/api/",
    DATABASE_URL: "postgresql://user:pass@db.example.com:5432/bikes?sslmode=require",
    DATABASE_REPLICA_URL: "postgresql://user:pass@replica.example.com:5432/bikes?sslmode=require",
    REDIS_URL: "rediss://user:pass@redis.example.com:6380/2",
    DATA_DIR: "data",
    TLS_CERT_FILE: "cert.pem",
    TLS_KEY_FILE: "/etc/key.pem",
    TRUSTED_PROXIES: "10.0.0.0/8, ::1",
    SYSTEM_ID: "zürich".replace("ü", "u"),
    RATE_LIMIT_PER_MINUTE: "600",
    SECRETS_FILE: "../secrets.json",
    GBFS_SYNC_URL: "https://feeds.example.com/gbfs.json?key=x",
    GBFS_SYNC_EVERY: "2m",
    GBFS_STALE_AFTER: "3h",
    GBFS_STATION_STALE_AFTER: "2d",
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8, ::1",
    WEBHOOK_ALLOW_PORTS: "443, 1024-65535",
    SMTP_URL: "smtp://user:pass@mail.example.com:587",
    MAIL_FROM: "Example Bikes <bikes@example.com>",
    METRICS_HOST: "10.0.0.7",
    METRICS_PORT: "9464",
    DRAIN_DELAY: "15s",
    HANG_TIMEOUT: "10m",
    LOG_LEVEL: "debug",
    LOG_FORMAT: "json",
  };
  expect(readConfig(env, directory)).toMatchObject({
    host: "::",
    port: 0,
    publicUrl: "https://bikes.example.com/api",
    databaseUrl: env.DATABASE_URL,
    databaseReplicaUrl: env.DATABASE_REPLICA_URL,
    redisUrl: env.REDIS_URL,
    dataDir: "/srv/bikes/data",
    tls: { certFile: "/srv/bikes/cert.pem", keyFile: "/etc/key.pem" },
    trustedProxies: new NetworkList(["10.0.0.0/8", "::1"]),
    systemId: "zurich",
    rateLimit: 600,
    secretsFile: "/srv/secrets.json",
    gbfsSync: { url: "https://feeds.example.com/gbfs.json?key=x", intervalMs: 120_000 },
    gbfsStaleAfterMs: 10_800_000,
    stationStaleAfterMs: 172_800_000,
    webhooks: {
      allowNetworks: new NetworkList(["127.0.0.0/8", "::1"]),
      allowPorts: [
        { from: 443, to: 443 },
        { from: 1024, to: 65_535 },
      ],
    },
    mail: { smtpUrl: env.SMTP_URL, from: "Example Bikes <bikes@example.com>" },
    metricsHost: "10.0.0.7",
    metricsPort: 9464,
    drainDelayMs: 15_000,
    hangTimeoutMs: 600_000,
    isSystemIdSet: true,
    logLevel: "debug",
    logFormat: "json",
  });
});

it("takes an empty variable for one that is not set", () => {
  const names = [
    "HOST",
    "PORT",
    "PUBLIC_URL",
    "DATABASE_URL",
    "DATABASE_REPLICA_URL",
    "REDIS_URL",
    "DATA_DIR",
    "TLS_CERT_FILE",
    "TLS_KEY_FILE",
    "TRUSTED_PROXIES",
    "SYSTEM_ID",
    "RATE_LIMIT_PER_MINUTE",
    "SECRETS_FILE",
    "GBFS_SYNC_URL",
    "GBFS_SYNC_EVERY",
    "GBFS_STALE_AFTER",
    "GBFS_STATION_STALE_AFTER",
    "WEBHOOK_ALLOW_NETWORKS",
    "WEBHOOK_ALLOW_PORTS",
    "SMTP_URL",
    "MAIL_FROM",
    "METRICS_HOST",
    "METRICS_PORT",
    "DRAIN_DELAY",
    "HANG_TIMEOUT",
    "OPERATOR_KEY",
    "LOG_LEVEL",
    "LOG_FORMAT",
  ];
  expect(readConfig(Object.fromEntries(names.map((name) => [name, ""])), directory)).toEqual(readConfig({}, directory));
});

it.each([
  ["HOST", "a host", "host name or an IP address"],
  ["HOST", "http://localhost", "host name or an IP address"],
  ["PORT", "65536", "integer from 0 to 65535"],
  ["PORT", "-1", "integer from 0 to 65535"],
  ["PORT", "80.5", "integer from 0 to 65535"],
  ["PORT", "http", "integer from 0 to 65535"],
  ["PUBLIC_URL", "bikes.example.com", "http or https URL"],
  ["PUBLIC_URL", "ftp://bikes.example.com", "http or https URL"],
  ["PUBLIC_URL", "https://bikes.example.com/?a=b", "http or https URL"],
  ["TRUSTED_PROXIES", "10.0.0.0/8, proxy", `"proxy" is neither an IP address nor a network`],
  ["TRUSTED_PROXIES", "true", "neither an IP address nor a network"],
  ["SYSTEM_ID", "two words", "1 to 255 visible ASCII characters"],
  ["SYSTEM_ID", "x".repeat(256), "1 to 255 visible ASCII characters"],
  ["RATE_LIMIT_PER_MINUTE", "0", "integer from 1 to"],
  ["RATE_LIMIT_PER_MINUTE", "1e3", "integer from 1 to"],
  ["RATE_LIMIT_PER_MINUTE", "unlimited", "integer from 1 to"],
  ["GBFS_STALE_AFTER", "30s", "duration from 1m to 30d"],
  ["GBFS_STATION_STALE_AFTER", "5m", "duration from 10m to 30d"],
  ["GBFS_SYNC_EVERY", "0s", "duration from 1s to 1d"],
  ["GBFS_SYNC_EVERY", "2d", "duration from 1s to 1d"],
  ["GBFS_SYNC_EVERY", "30", "duration from 1s to 1d"],
  ["GBFS_SYNC_EVERY", "1w", "duration from 1s to 1d"],
  ["WEBHOOK_ALLOW_NETWORKS", "loopback", `"loopback" is neither an IP address nor a network`],
  ["WEBHOOK_ALLOW_PORTS", "https", `"https" is neither a port from 1 to 65535 nor a range`],
  ["WEBHOOK_ALLOW_PORTS", "443,70000", `"70000" is neither a port`],
  ["WEBHOOK_ALLOW_PORTS", ",", "no port is listed"],
  ["MAIL_FROM", "bikes", "must be a mail address"],
  ["MAIL_FROM", "a@example.com, b@example.com", "must be a mail address"],
  ["MAIL_FROM", "a@example.com\nBcc: b@example.com", "must be a mail address"],
  ["METRICS_PORT", "65536", "integer from 0 to 65535"],
  ["METRICS_HOST", "a host", "host name or an IP address"],
  ["DRAIN_DELAY", "5", "duration from 0s to 5m"],
  ["DRAIN_DELAY", "6m", "duration from 0s to 5m"],
  ["HANG_TIMEOUT", "1s", "duration from 5s to 1d"],
  ["LOG_LEVEL", "verbose", "one of fatal, error, warn, info, debug, trace, silent"],
  ["LOG_FORMAT", "pretty", "one of json, text"],
])("refuses %s=%s and says what is allowed", (name, value, allowed) => {
  const issue = issueOf({ [name]: value });
  expect(issue).toContain(`${name}=${JSON.stringify(value)}`);
  expect(issue).toContain(allowed);
});

it.each(["localhost", "mysql://user:hunter2@db/bikes", "user:hunter2@db/bikes"])(
  "refuses DATABASE_URL=%s without repeating it, since it may hold a password",
  (value) => {
    const issue = issueOf({ DATABASE_URL: value });
    expect(issue).toMatch(/^DATABASE_URL=\(not shown\): must be a URL such as postgres:/);
    expect(issue).not.toContain("hunter2");
  },
);

it.each([
  ["prefer", "sslmode must be one of disable, require, verify-ca, verify-full"],
  ["no-verify", "sslmode must be one of disable, require, verify-ca, verify-full"],
  ["verify-ca", "sslmode=verify-ca needs sslrootcert=<file>"],
])("refuses DATABASE_URL with sslmode=%s, which would protect less than it seems to", (mode, advice) => {
  const issue = issueOf({ DATABASE_URL: `postgres://user:hunter2@db/bikes?sslmode=${mode}` });
  expect(issue).toContain(advice);
  expect(issue).not.toContain("hunter2");
});

it("polls a feed every 30 s by default", () => {
  const url = "http://127.0.0.1:8080/gbfs.json";
  expect(readConfig({ GBFS_SYNC_URL: url }, directory).gbfsSync).toEqual({ url, intervalMs: 30_000 });
});

it.each(["feeds.example.com/gbfs.json", "file:///etc/passwd", "https://user:hunter2@feeds.example.com/gbfs.json"])(
  "refuses GBFS_SYNC_URL=%s without repeating it, since it may hold a key",
  (value) => {
    const issue = issueOf({ GBFS_SYNC_URL: value });
    expect(issue).toMatch(/^GBFS_SYNC_URL=\(not shown\): must be the http or https URL of a gbfs.json/);
    expect(issue).not.toContain(value);
  },
);

it.each([
  "redis.example.com:6379",
  "http://user:hunter2@redis.example.com",
  "redis://",
  "redis://user:hunter2@redis.example.com/first",
  "redis://user:hunter2@redis.example.com/0?family=6",
  "redis://user:hunter2%@redis.example.com",
])("refuses REDIS_URL=%s without repeating it, since it may hold a password", (value) => {
  const issue = issueOf({ REDIS_URL: value });
  expect(issue).toMatch(/^REDIS_URL=\(not shown\): must be a URL such as redis:/);
  expect(issue).not.toContain("hunter2");
});

it.each(["mail.example.com", "https://mail.example.com", "user:hunter2@mail.example.com"])(
  "refuses SMTP_URL=%s without repeating it, since it may hold a password",
  (value) => {
    const issue = issueOf({ SMTP_URL: value, MAIL_FROM: "bikes@example.com" });
    expect(issue).toMatch(/^SMTP_URL=\(not shown\): must be a URL such as smtp:/);
    expect(issue).not.toContain("hunter2");
  },
);

it("has no replica of the embedded database", () => {
  expect(issueOf({ DATABASE_REPLICA_URL: "postgres://replica.example.com/bikes" })).toMatch(
    /^DATABASE_REPLICA_URL: needs/,
  );
});

it("sends mails from the public host unless told otherwise", () => {
  const env = { SMTP_URL: "smtps://mail.example.com", PUBLIC_URL: "https://bikes.example.com/api" };
  expect(readConfig(env, directory).mail).toEqual({ smtpUrl: env.SMTP_URL, from: "no-reply@bikes.example.com" });
});

it.each(["", "http://127.0.0.1:3000", "http://localhost:3000"])(
  "asks for MAIL_FROM where mails are sent and PUBLIC_URL=%j does not have a public name",
  (publicUrl) => {
    const issue = issueOf({ SMTP_URL: "smtp://mail.example.com", PUBLIC_URL: publicUrl });
    expect(issue).toBe("MAIL_FROM: must be set beside SMTP_URL, to what mails are from, such as bikes@example.com");
  },
);

it.each(["user:hunter2", ":hunter2"])("does not repeat a password in a PUBLIC_URL it refuses: %s", (credentials) => {
  const issue = issueOf({ PUBLIC_URL: `https://${credentials}@bikes.example.com` });
  expect(issue).toMatch(/^PUBLIC_URL=\(not shown\): must be an http or https URL/);
});

it("says what headers must be when one is not percent-encoded", () => {
  const issue = issueOf({ OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%2" });
  expect(issue).toMatch(/^OTEL_EXPORTER_OTLP_HEADERS=\(not shown\): must be headers such as/);
});

it.each(["TLS_CERT_FILE", "TLS_KEY_FILE"])("refuses %s without the other", (name) => {
  expect(issueOf({ [name]: "file.pem" })).toBe("TLS_CERT_FILE and TLS_KEY_FILE: set both, or neither");
});

it("names every wrong variable at once", () => {
  const issue = issueOf({ PORT: "x", LOG_LEVEL: "z", TLS_KEY_FILE: "k" });
  expect(issue.split("\n").map((line) => line.split(/[= ]/)[0])).toEqual(["PORT", "TLS_CERT_FILE", "LOG_LEVEL"]);
});

it("takes what callers from anywhere meet: limits, origins, the reference", () => {
  expect(readConfig({}, directory)).toMatchObject({
    publicRateLimit: 600,
    maxConnections: 4096,
    corsOrigins: [],
    docs: true,
    mcp: true,
  });
  const env = {
    PUBLIC_RATE_LIMIT_PER_MINUTE: "30",
    MAX_CONNECTIONS: "100",
    CORS_ORIGINS: "https://app.example.com, http://localhost:5173",
    DOCS: "off",
    MCP: "off",
  };
  expect(readConfig(env, directory)).toMatchObject({
    publicRateLimit: 30,
    maxConnections: 100,
    corsOrigins: ["https://app.example.com", "http://localhost:5173"],
    docs: false,
    mcp: false,
  });
  for (const origin of ["*", "app.example.com", "https://app.example.com/", "https://a.example/x", "ftp://a.example"]) {
    expect(issueOf({ CORS_ORIGINS: origin })).toContain(`"${origin}" is not an origin`);
  }
  expect(issueOf({ DOCS: "no" })).toContain("must be one of on, off");
});

it("takes the address of map tiles only with whose map it is", () => {
  const tiles = { MAP_TILES_URL: "https://tiles.example.com/{z}/{x}/{y}{r}.png", MAP_TILES_ATTRIBUTION: "© Example" };
  expect(readConfig(tiles, directory).mapTiles).toEqual({ url: tiles.MAP_TILES_URL, attribution: "© Example" });
  expect(readConfig({}, directory).mapTiles).toBeUndefined();
  expect(() => readConfig({ MAP_TILES_URL: tiles.MAP_TILES_URL }, directory)).toThrow("set MAP_TILES_ATTRIBUTION too");
  for (const url of [
    "https://tiles.example.com/{z}/{x}.png",
    "https://{s}.example.com/{z}/{x}/{y}.png",
    "https://tiles_{s}.example.com/{z}/{x}/{y}.png",
    "https://{x}.example.com/{z}/{x}/{y}.png",
    "ftp://tiles.example.com/{z}/{x}/{y}.png",
    "https://tiles.example.com; script-src */{z}/{x}/{y}.png",
  ])
    expect(() => readConfig({ ...tiles, MAP_TILES_URL: url }, directory)).toThrow(
      "must be an http or https URL with {z}, {x} and {y}",
    );
  const inPath = { ...tiles, MAP_TILES_URL: "http://tile-server:8080/dark_all/{z}/{x}/{y}.png" };
  expect(readConfig(inPath, directory).mapTiles?.url).toBe(inPath.MAP_TILES_URL);
  // A name that Docker Compose gives, and that a Content-Security-Policy cannot hold.
  const underscored = { ...tiles, MAP_TILES_URL: "http://tile_server:8080/{z}/{x}/{y}.png" };
  expect(() => readConfig(underscored, directory)).toThrow("must not have _ in its host name");
});

it("takes how the dashboard shows the operator, and where it may stand in a frame", () => {
  expect(readConfig({}, directory)).toMatchObject({
    branding: { name: undefined, logoFile: undefined, color: undefined },
    frameAncestors: [],
  });
  const env = {
    DASHBOARD_NAME: "Vélo’v Lyon",
    DASHBOARD_LOGO_FILE: "logo.svg",
    DASHBOARD_COLOUR: "#0A7C4a",
    DASHBOARD_FRAME_ANCESTORS: "https://portal.example",
  };
  expect(readConfig(env, directory)).toMatchObject({
    branding: { name: "Vélo’v Lyon", logoFile: `${directory}/logo.svg`, color: "#0A7C4a" },
    frameAncestors: ["https://portal.example"],
  });
  expect(issueOf({ DASHBOARD_NAME: " two\nlines" })).toContain("must be one line of 1 to 60 characters");
  expect(issueOf({ DASHBOARD_COLOUR: "red; }" })).toContain("must be a colour in hexadecimal");
  expect(issueOf({ DASHBOARD_FRAME_ANCESTORS: "*" })).toContain('"*" is not an origin');
});

it("takes an identity provider, and how people may sign in", () => {
  expect(readConfig({}, directory)).toMatchObject({
    signInMethods: ["passkey", "password"],
    identityProvider: undefined,
  });
  const env = {
    PUBLIC_URL: "https://bikes.example.com",
    OIDC_ISSUER: "https://Login.example.com",
    OIDC_CLIENT_ID: "dashboard",
    OIDC_CLIENT_SECRET: "hunter2",
  };
  const identityProvider = {
    issuer: "https://login.example.com/",
    clientId: "dashboard",
    clientSecret: "hunter2",
    name: "login.example.com",
    emailDomains: undefined,
  };
  expect(readConfig(env, directory)).toMatchObject({
    signInMethods: ["passkey", "password", "oidc"],
    identityProvider,
  });
  const more = { OIDC_NAME: "Bike Town", OIDC_EMAIL_DOMAINS: "Example.com, example.org", SIGN_IN_METHODS: "oidc" };
  expect(readConfig({ ...env, ...more }, directory)).toMatchObject({
    signInMethods: ["oidc"],
    identityProvider: { name: "Bike Town", emailDomains: ["example.com", "example.org"] },
  });
  expect(issueOf({ ...env, PUBLIC_URL: "" })).toMatch(/^PUBLIC_URL: must be set beside OIDC_ISSUER/);
  expect(issueOf({ OIDC_CLIENT_SECRET: "hunter2" })).toBe(
    "OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET: set all three, or none",
  );
  expect(issueOf({ SIGN_IN_METHODS: "oidc" })).toBe("SIGN_IN_METHODS: oidc needs OIDC_ISSUER");
  expect(issueOf({ SIGN_IN_METHODS: "passkey,magic" })).toContain("must be one of passkey, password, oidc");
  expect(issueOf({ ...env, OIDC_EMAIL_DOMAINS: "@example.com" })).toContain("must be domains of mail addresses");
  for (const issuer of ["http://login.example.com", "login.example.com", "https://login.example.com/?tenant=a"])
    expect(issueOf({ ...env, OIDC_ISSUER: issuer })).toMatch(/^OIDC_ISSUER="[^"]+": must be an https URL[^\n]*$/);
});
