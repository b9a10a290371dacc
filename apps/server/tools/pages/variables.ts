/* The variables that operators set, by what they are about, for docs/configuration.md. Tests compare them with `readConfig`. */

interface Variable {
  readonly name: string;
  /** The default as one would write it; absent: `unset` says what happens without the variable. */
  readonly value?: string;
  readonly unset?: string;
  readonly meaning: string;
}

interface VariableGroup {
  readonly title: string;
  readonly variables: readonly Variable[];
}

/** In the order of the page: first those that most operators set. */
export const variableGroups: readonly VariableGroup[] = [
  {
    title: "The ten that most operators set",
    variables: [
      {
        name: "PUBLIC_URL",
        unset: "made from host and port",
        meaning: "The base address in documents, feeds and mails, such as `https://bikes.example.com`.",
      },
      {
        name: "TRUSTED_PROXIES",
        unset: "none",
        meaning:
          "Addresses or networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted. See [HTTPS](#https).",
      },
      {
        name: "DATABASE_URL",
        unset: "our own PostgreSQL in `DATA_DIR`",
        meaning: "[Your own PostgreSQL](#your-own-postgresql), 15 or newer.",
      },
      {
        name: "SMTP_URL",
        unset: "mails are logged",
        meaning: "The mail server: `smtp://user:password@mail.example.com:587`, or `smtps://`. See [Mail](#mail).",
      },
      {
        name: "MAIL_FROM",
        unset: "`no-reply@` and the host of `PUBLIC_URL`",
        meaning: "The sender of mails. Required with `SMTP_URL` where `PUBLIC_URL` has no public host name.",
      },
      {
        name: "ALERT_MAIL_TO",
        unset: "nobody",
        meaning: "Up to ten addresses that get a [mail](#mail-to-the-operator) when something needs the operator.",
      },
      {
        name: "BACKUP_DIR",
        unset: "no backups",
        meaning: "The directory in which workers make [backups](operations.md#backups).",
      },
      {
        name: "METRICS_PORT",
        unset: "no metrics",
        meaning: "The port of `/metrics`, `/healthz` and `/readyz` for [Prometheus](metrics.md); not `PORT`.",
      },
      {
        name: "DATABASE_SIZE_LIMIT_GB",
        unset: "not known",
        meaning: "How many GB the database may take on its disk. Alerts begin at 85 %.",
      },
      {
        name: "REDIS_URL",
        unset: "each process counts by itself",
        meaning:
          "Redis 6.0 or newer, or Valkey, in which [several processes](#several-processes) count rate limits together; `rediss://` for TLS.",
      },
    ],
  },
  {
    title: "Listening and callers",
    variables: [
      { name: "HOST", value: "127.0.0.1", meaning: "The address to listen at." },
      { name: "PORT", value: "3000", meaning: "The port to listen at." },
      {
        name: "TLS_CERT_FILE",
        unset: "plain HTTP",
        meaning: "The certificate, PEM, to serve HTTPS. A renewed one is used within a minute.",
      },
      { name: "TLS_KEY_FILE", unset: "plain HTTP", meaning: "Its key, PEM." },
      {
        name: "RATE_LIMIT_PER_MINUTE",
        value: "60",
        meaning: "Requests in any 60 s of a key without a rate of its own.",
      },
      {
        name: "PUBLIC_RATE_LIMIT_PER_MINUTE",
        value: "600",
        meaning:
          "Requests in any 60 s of an address (IPv6: a /64) to paths that need no key, without `/healthz` and `/readyz`. A response counts once for each 256 KiB.",
      },
      {
        name: "MAX_CONNECTIONS",
        value: "4096",
        meaning: "Open connections of callers; a tenth of them from one address.",
      },
      {
        name: "CORS_ORIGINS",
        unset: "none",
        meaning:
          "Origins whose pages may read `/v1` and `/openapi.json`, such as `https://app.example.com,http://localhost:5173`.",
      },
      { name: "MCP", value: "on", meaning: "`off`: no [agents](agents.md) at `/mcp`." },
      { name: "DOCS", value: "on", meaning: "`off`: no guides and reference at `/docs`." },
      {
        name: "MDS",
        value: "off",
        meaning: "`on`: [cities](cities.md) read vehicles at `/mds`.",
      },
      {
        name: "SECURITY_CONTACT",
        unset: "none",
        meaning: "Whom to tell of a weakness, such as `mailto:security@example.com`, in `/.well-known/security.txt`.",
      },
      {
        name: "DRAIN_DELAY",
        unset: "`5s`; `0s` on a terminal and for `start`",
        meaning: "How long requests are accepted after the signal to [stop](#stopping), `0s` to `5m`.",
      },
      {
        name: "HANG_TIMEOUT",
        value: "1m",
        meaning: "How long a process may [hang](#processes-that-hang) before it ends itself, `5s` to `1d`.",
      },
    ],
  },
  {
    title: "Data",
    variables: [
      {
        name: "DATA_DIR",
        value: ".bikeshare",
        meaning: "The directory of our own PostgreSQL, the secrets file and import reports.",
      },
      {
        name: "EXPORTS_DIR",
        unset: "`exports` in `DATA_DIR`",
        meaning: "Where files of [open data](open-data.md) lie; one directory for all processes.",
      },
      {
        name: "SECRETS_FILE",
        unset: "`secrets.json` in `DATA_DIR`",
        meaning: "The [keys](#secrets-file) that encrypt cursors and stored secrets; the same for every process.",
      },
      {
        name: "DATABASE_REPLICA_URL",
        unset: "the primary answers all reads",
        meaning: "A streaming [replica](#a-read-replica) of `DATABASE_URL`, or a balancer in front of several.",
      },
      { name: "SYSTEM_ID", value: "main", meaning: "The id of the first system. Another value later stops the start." },
      { name: "BACKUP_EVERY", value: "24h", meaning: "The time between two backups, `1h` to `30d`." },
      { name: "BACKUP_KEEP", value: "7", meaning: "How many of the newest backups stay." },
      {
        name: "GBFS_SYNC_URL",
        unset: "no feed",
        meaning: "The `gbfs.json` of a [live feed](commands.md#following-a-live-feed) that workers follow.",
      },
      { name: "GBFS_SYNC_EVERY", value: "30s", meaning: "The time between two polls, `1s` to `1d`." },
      {
        name: "GBFS_STALE_AFTER",
        unset: "ten times the feed's `ttl`, 1 h to 24 h",
        meaning: "The age from which the data of a feed are [stale](commands.md#following-a-live-feed), `1m` to `30d`.",
      },
      {
        name: "GBFS_STATION_STALE_AFTER",
        unset: "never",
        meaning: "The age of a station's `last_reported` from which it is offline, `10m` to `30d`.",
      },
      {
        name: "LONG_RIDE_AFTER",
        value: "24h",
        meaning: "The time after which a ride under way is [reported](runbook.md#long-rides), `1h` to `30d`.",
      },
      { name: "OPERATOR_KEY", unset: "none", meaning: "The key that `simulate --url` uses." },
    ],
  },
  {
    title: "Dashboard and webhooks",
    variables: [
      {
        name: "DASHBOARD_NAME",
        unset: "Bike-Sharing Data Service",
        meaning: "What dashboard, passkeys and authenticator apps call the service, up to 60 characters.",
      },
      {
        name: "DASHBOARD_LOGO_FILE",
        unset: "a drawing of a bike",
        meaning: "Your logo, an SVG or PNG of up to 100 kB.",
      },
      {
        name: "DASHBOARD_COLOUR",
        unset: "`#3b5bdb`",
        meaning: "One colour for buttons, links and charts, such as `#0a7c4a`.",
      },
      {
        name: "MAP_TILES_URL",
        unset: "`map.pmtiles` in `DATA_DIR`, or no streets",
        meaning:
          "Where maps get their streets: `https://tiles.example.com/{z}/{x}/{y}.png`, with `{r}` where sharp screens get other tiles.",
      },
      {
        name: "MAP_TILES_ATTRIBUTION",
        unset: "none",
        meaning:
          "Whose map that is, such as `© OpenStreetMap contributors`. Required with `MAP_TILES_URL`; replaces what an archive says.",
      },
      {
        name: "DASHBOARD_FRAME_ANCESTORS",
        unset: "none",
        meaning: "Origins whose pages may show the dashboard in a frame.",
      },
      {
        name: "SIGN_IN_METHODS",
        unset: "all",
        meaning: "How people may sign in: `passkey`, `password`, `oidc`, separated by commas.",
      },
      {
        name: "OIDC_ISSUER",
        unset: "no identity provider",
        meaning:
          "The issuer of your [identity provider](dashboard.md#signing-in-at-an-identity-provider), such as `https://login.example.com/realms/bikes`.",
      },
      {
        name: "OIDC_CLIENT_ID",
        unset: "none",
        meaning: "This service as the provider knows it. Required with `OIDC_ISSUER`, as `PUBLIC_URL` is.",
      },
      { name: "OIDC_CLIENT_SECRET", unset: "none", meaning: "Its secret." },
      {
        name: "OIDC_NAME",
        unset: "the issuer's host",
        meaning: 'The name behind "Continue with", up to 60 characters.',
      },
      {
        name: "OIDC_EMAIL_DOMAINS",
        unset: "all",
        meaning: "Domains whose addresses may sign in at the provider; subdomains are others.",
      },
      {
        name: "WEBHOOK_ALLOW_NETWORKS",
        unset: "none",
        meaning:
          "Private addresses or networks that webhooks may reach, such as `127.0.0.0/8`; only these may use plain http.",
      },
      {
        name: "WEBHOOK_ALLOW_PORTS",
        value: "443",
        meaning: "All ports that webhooks may use, such as `443,8443,1024-65535`.",
      },
    ],
  },
  {
    title: "Metrics, traces and log",
    variables: [
      {
        name: "ALERT_WEBHOOK_URL",
        unset: "nowhere",
        meaning:
          "An incoming webhook of Slack, Teams or Mattermost, which gets the text of each [mail to the operator](#mail-to-the-operator).",
      },
      {
        name: "METRICS_HOST",
        value: "127.0.0.1",
        meaning: "The address of `METRICS_PORT`. It needs no key: let only your monitoring reach it.",
      },
      {
        name: "SLOW_REQUEST_MS",
        value: "1000",
        meaning:
          "Slower requests are [logged](metrics.md#from-a-slow-bucket-to-a-log-line) with where their time went; `0`: none.",
      },
      {
        name: "OTEL_EXPORTER_OTLP_ENDPOINT",
        unset: "no traces",
        meaning: "Where [traces](metrics.md#traces) are sent: the base URL of an OpenTelemetry collector.",
      },
      {
        name: "OTEL_EXPORTER_OTLP_HEADERS",
        unset: "none",
        meaning: "Headers for the collector, such as `authorization=Bearer%20abc`.",
      },
      { name: "OTEL_SERVICE_NAME", value: "bikeshare", meaning: "The service's name in traces." },
      {
        name: "OTEL_TRACES_SAMPLER_ARG",
        value: "0.1",
        meaning: "The share of requests that is traced, 0 to 1; at most 50 traces a second and process.",
      },
      { name: "LOG_LEVEL", value: "info", meaning: "`fatal` to `trace`, or `silent`." },
      {
        name: "LOG_FORMAT",
        unset: "`text` on a terminal, else `json`",
        meaning: "How log lines on stderr are written: `json` for programs, `text` for people.",
      },
    ],
  },
];

/** The variables as sections of a page, each with its table. */
export function variablesText(): string {
  const sections = variableGroups.map(({ title, variables }) => {
    const rows = variables.map(
      ({ name, value, unset = "", meaning }) =>
        `| \`${name}\` | ${value === undefined ? unset : `\`${value}\``} | ${meaning} |`,
    );
    return [`### ${title}`, "", "| variable | default | |", "|---|---|---|", ...rows].join("\n");
  });
  return sections.join("\n\n");
}
