import { once } from "node:events";
import { access, constants, stat, statfs } from "node:fs/promises";
import { connect } from "node:net";
import { listBackups } from "../backup/schedule.ts";
import type { Config } from "../config.ts";
import { secretsPath } from "../secrets.ts";
import { expiryOf, readCertificate } from "../startup/certificate.ts";
import { checked, failure, type Finding, ok, warning } from "./finding.ts";

const DAY_MS = 86_400_000;
const GIB = 1024 ** 3;
/** For another machine to accept a connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** What this machine has, and which others it reaches. */
export async function checkMachine(config: Config, now: number): Promise<Finding[]> {
  const found = await Promise.all([
    Promise.resolve([checkNode()]),
    checked("data directory", "Create it, owned by the account of the service.", () => checkDataDirectory(config)),
    checked("secrets file", "Name the file in SECRETS_FILE that the service has been using.", () =>
      checkSecretsFile(config),
    ),
    checked("certificate", "Correct TLS_CERT_FILE and TLS_KEY_FILE.", () => checkCertificate(config, now)),
    checked("redis", "Start it, or correct REDIS_URL. Meanwhile each process counts with its share of the limit.", () =>
      checkRedis(config),
    ),
    checked("latest backup", "Correct BACKUP_DIR.", () => checkLatestBackup(config, now)),
    ...outboundAddresses(config).map(([variable, address]) =>
      checked(`${variable} reachable`, "Correct the address, or let the firewall pass it.", () =>
        checkReachable(variable, address),
      ),
    ),
  ]);
  return found.flat();
}

/** The oldest version that package.json allows. */
const MIN_NODE = [22, 18] as const;

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isOld = major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1]);
  const version = `Node ${process.versions.node}`;
  if (!isOld) return ok("node", version);
  return failure("node", `${version} is too old`, `Install Node ${MIN_NODE.join(".")} or newer.`);
}

async function checkDataDirectory({ dataDir, databaseUrl }: Config): Promise<Finding> {
  await access(dataDir, constants.W_OK);
  const { bavail, bsize } = await statfs(dataDir);
  const free = (bavail * bsize) / GIB;
  const detail = `${dataDir} has ${free.toFixed(1)} GiB free`;
  const enough = databaseUrl === undefined ? 2 : 0.2;
  if (free < enough / 10) return failure("data directory", detail, "Free space now: without it nothing can be stored.");
  if (free < enough) return warning("data directory", detail, "Free space, or move DATA_DIR to a larger disk.");
  return ok("data directory", detail);
}

async function checkSecretsFile(config: Config): Promise<Finding> {
  const path = secretsPath(config);
  const { mode } = await stat(path);
  if ((mode & 0o077) === 0 || process.platform === "win32") return ok("secrets file", path);
  return warning("secrets file", `${path} can be read by other accounts of this machine`, `chmod 600 ${path}`);
}

async function checkCertificate({ tls }: Config, now: number): Promise<readonly Finding[]> {
  if (tls === undefined) return [];
  const expiry = expiryOf(await readCertificate(tls));
  const days = Math.floor((expiry.getTime() - now) / DAY_MS);
  const detail = `${tls.certFile} expires on ${expiry.toISOString().slice(0, 10)}`;
  const fix = "Renew it; the service takes the new one within a minute.";
  if (days < 0) return [failure("certificate", `${tls.certFile} has expired`, fix)];
  return [days < 14 ? warning("certificate", detail, fix) : ok("certificate", detail)];
}

async function checkRedis({ redisUrl }: Config): Promise<readonly Finding[]> {
  if (redisUrl === undefined) return [];
  const { openRedisStore } = await import("../rate-limits/redis-store.ts");
  const answered = Promise.withResolvers<void>();
  const store = openRedisStore({
    url: redisUrl,
    onConnected: () => answered.resolve(),
    onLost: (error) => answered.reject(error),
  });
  try {
    await answered.promise;
    return [ok("redis", "answers")];
  } finally {
    store.close();
  }
}

async function checkLatestBackup({ backups }: Config, now: number): Promise<readonly Finding[]> {
  if (backups === undefined) return [];
  const newest = (await listBackups(backups.directory)).at(-1);
  const fix = 'Look for "making a backup" in the log of a worker, or run `bikeshare backup` by hand.';
  if (newest === undefined) return [warning("latest backup", `there is none in ${backups.directory}`, fix)];
  const age = now - newest.madeAt;
  const detail = `${newest.name}, ${(age / 3_600_000).toFixed(1)} h old`;
  return [age > 2 * backups.intervalMs ? failure("latest backup", detail, fix) : ok("latest backup", detail)];
}

/** The other machines that the configuration names, by variable. */
function outboundAddresses({ gbfsSync, mail, identityProvider }: Config): [variable: string, address: URL][] {
  const named: readonly (readonly [string, string | undefined])[] = [
    ["GBFS_SYNC_URL", gbfsSync?.url],
    ["SMTP_URL", mail?.smtpUrl],
    ["OIDC_ISSUER", identityProvider?.issuer],
  ];
  return named.flatMap(([variable, address]) =>
    address === undefined ? [] : [[variable, new URL(address)] as [string, URL]],
  );
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "smtp:": 587, "smtps:": 465 };

async function checkReachable(variable: string, { hostname, port, protocol }: URL): Promise<Finding> {
  const to = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (DEFAULT_PORTS[protocol] ?? 443) };
  const socket = connect(to);
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return ok(`${variable} reachable`, `${to.host}:${to.port} accepts connections`);
  } finally {
    socket.destroy();
  }
}
