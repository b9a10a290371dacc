import { once } from "node:events";
import { access, constants } from "node:fs/promises";
import { createServer } from "node:net";
import { ensureDataDir } from "@bikeshare/embedded-postgres";
import { type Config, ConfigError } from "../../config.ts";
import { codeOf, isDiskFull, isUnavailable, sqlState } from "../../storage/db/errors.ts";
import { type Certificate, readCertificate } from "./certificate.ts";

/*
 * Finds and explains what keeps a service from starting: the database, the ports, the certificate and the data directory. An
 * explanation names the variable to correct.
 */

/**
 * Explains why the database could not be opened: the variable, the error and the remedy.
 * @returns a ConfigError, or `error` itself when the configuration is not the cause
 */
export function explainDatabaseFailure(error: unknown, config: Pick<Config, "databaseUrl" | "dataDir">): unknown {
  if (config.databaseUrl === undefined) {
    if (!isDiskFull(error)) return error;
    return explained(`DATA_DIR=${config.dataDir}: its disk is full. Free space there, and start again.`, error);
  }
  const advice = adviceFor(error, new URL(config.databaseUrl));
  return advice === undefined ? error : explained(`DATABASE_URL: ${advice}`, error);
}

/**
 * Explains which disk is full when a command fails for that reason.
 * @param databaseEnded the reason, if our own PostgreSQL has ended all connections because its disk is full
 * @returns `error` itself if no disk is full
 */
export function explainFullDisk(
  error: unknown,
  config: Pick<Config, "databaseUrl" | "dataDir">,
  databaseEnded?: string,
): unknown {
  const isEnded = databaseEnded !== undefined && isUnavailable(error);
  if (!isEnded && !isDiskFull(error)) return error;
  // Failures without an SQLSTATE come from files of this process, such as reports and files to import.
  const isOurs = config.databaseUrl === undefined || codeOf(error) !== sqlState.diskFull;
  const disk = isOurs ? `DATA_DIR (${config.dataDir})` : "the database";
  return new Error(
    `The disk of ${disk} is full: ${isEnded ? databaseEnded : reasonOf(error)}. Free space there, and run the command again.`,
  );
}

/** Returns an error with a message for the operator, followed by the cause's own message in brackets. */
function explained(message: string, cause: unknown): ConfigError {
  // Does not attach the cause, because the message contains the cause's message, which would be printed twice.
  const reason = reasonOf(cause);
  return new ConfigError(reason === "" ? message : `${message} (${reason})`);
}

/** Returns advice for an error of the database. Names the host, the role and the database, but not the password. */
function adviceFor(error: unknown, url: URL): string | undefined {
  const code = codeOf(error) ?? "";
  const at = placeOf(url);
  const user = decodeURIComponent(url.username);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (isDiskFull(error)) return `the disk of the database at ${at} is full. Free space there.`;
  const advice = byCode({ at, user, database })[code];
  if (advice !== undefined) return advice;
  if (UNTRUSTED_CERTIFICATE_CODES.has(code)) {
    return `the certificate of ${at} is not trusted. Give its authority with sslrootcert=<file>, and a host that the certificate names; sslmode=require encrypts without looking at it.`;
  }
  return (
    byText(error, at) ?? (isUnavailable(error) ? `the database at ${at} does not answer as it should.` : undefined)
  );
}

/**
 * Returns where a URL leads: `db.example.com:5432`, or the path of a Unix socket. The socket's directory is the parameter
 * `host`, or stands in place of the host, with `%2F` for each slash.
 */
function placeOf(url: URL): string {
  const host = url.searchParams.get("host") ?? url.hostname.replaceAll(/%2f/gi, "/");
  if (host.startsWith("/")) return `${host}/.s.PGSQL.${url.port === "" ? 5432 : url.port}`;
  return url.host === "" ? "the local socket" : url.host;
}

/** OpenSSL's and Node's codes for a certificate that is not trusted. */
const UNTRUSTED_CERTIFICATE_CODES: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_HAS_EXPIRED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** Returns the advice for each code: of PostgreSQL (SQLSTATE), or of the operating system. */
function byCode(names: {
  readonly at: string;
  readonly user: string;
  readonly database: string;
}): Readonly<Record<string, string>> {
  const { at, user, database } = names;
  const isSocket = at.startsWith("/");
  const role = user === "" ? "the role" : `the role "${user}"`;
  const unreachable = `nothing listens at ${at}. Start PostgreSQL there, or correct the host and the port.`;
  const login = `${at} refuses ${role}. Correct the user and the password (characters such as @ and / are written %40 and %2F), or allow it in pg_hba.conf.`;
  const rights = `${role} may not create tables in the schema public of "${database}". Run there: grant create on schema public to "${user}"; or make the role the owner of the database.`;
  return {
    ECONNREFUSED: unreachable,
    EHOSTUNREACH: unreachable,
    ENETUNREACH: unreachable,
    ETIMEDOUT: unreachable,
    ENOTFOUND: `there is no host of the name ${at}. Correct the host.`,
    EAI_AGAIN: `the name ${at} cannot be resolved at present. Correct the host, or check the name server.`,
    ENOENT: isSocket ? unreachable : "a file that it names is not there: see sslrootcert, sslcert and sslkey.",
    EACCES: isSocket
      ? `${at} may not be opened by this account. Correct its permissions, or the host.`
      : "a file that it names may not be read by this account: see sslrootcert, sslcert and sslkey.",
    [sqlState.invalidPassword]: login,
    [sqlState.invalidAuthorization]: login,
    [sqlState.invalidCatalogName]: `there is no database "${database}" at ${at}. Create it (createdb ${database}), or correct the name.`,
    [sqlState.insufficientPrivilege]: rights,
    [sqlState.invalidSchemaName]: rights,
    [sqlState.readOnlySqlTransaction]: `the server at ${at} is read-only, such as a standby. Name the primary.`,
    [sqlState.tooManyConnections]: `the server at ${at} has no connection left. Raise its max_connections, or end what holds them.`,
    [sqlState.cannotConnectNow]: `the server at ${at} is starting or stopping. Start again in a moment.`,
  };
}

/** Returns advice for failures without a code, by their text. */
function byText(error: unknown, at: string): string | undefined {
  const text = reasonOf(error);
  if (/does not support SSL/.test(text)) {
    return `the server at ${at} speaks no TLS. Turn it on there (ssl = on), or say sslmode=disable where the way to it is safe.`;
  }
  if (/timeout/i.test(text)) return `${at} does not answer. Correct the host and the port, or check the firewall.`;
  return undefined;
}

/** Returns the message of an error. */
export function reasonOf(error: unknown): string {
  // An attempt to connect to several addresses has a reason for each.
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join("; ");
  return error instanceof Error ? error.message : String(error);
}

/** An address to listen on, and the variables that configure it. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly hostVariable: string;
  readonly portVariable: string;
}

/** The listening address for requests. */
export const requestsAt = ({ host, port }: Config): ListenAddress => ({
  host,
  port,
  hostVariable: "HOST",
  portVariable: "PORT",
});

/** The listening address for metrics. @param port METRICS_PORT, which must be set */
const metricsAt = ({ metricsHost: host }: Config, port: number): ListenAddress => ({
  host,
  port,
  hostVariable: "METRICS_HOST",
  portVariable: "METRICS_PORT",
});

/**
 * Runs the checks that need no database. They come first, because opening the database takes time and creates files.
 * @returns the certificate, if one is configured
 * @throws ConfigError
 */
export async function checkBeforeStart(
  config: Config,
  role: "all" | "api" | "worker",
): Promise<Certificate | undefined> {
  const certificate = config.tls === undefined ? undefined : await readCertificate(config.tls);
  if (role !== "worker") await requireFreePort(requestsAt(config));
  if (config.metricsPort !== undefined) await requireFreePort(metricsAt(config, config.metricsPort));
  if (config.databaseUrl === undefined || config.secretsFile === undefined) await prepareDataDir(config);
  return certificate;
}

/** @throws ConfigError when nothing can listen on the address */
async function requireFreePort(at: ListenAddress): Promise<void> {
  const server = createServer();
  try {
    server.listen({ host: at.host, port: at.port, exclusive: true });
    await once(server, "listening");
  } catch (error) {
    throw explainListenFailure(error, at);
  } finally {
    server.close();
  }
}

/**
 * Explains why a server cannot listen.
 * @returns a ConfigError with the reason and the remedy, or `error` itself when the reason is unknown
 */
export function explainListenFailure(error: unknown, at: ListenAddress): unknown {
  const { host, port, hostVariable, portVariable } = at;
  const elsewhere = "Set it to 127.0.0.1, to 0.0.0.0 for all addresses, or to an address of this machine.";
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return new ConfigError(
        `${portVariable}=${port}: ${host}:${port} is in use. Stop what listens there, or set ${portVariable} to another port.`,
      );
    case "EACCES":
      return new ConfigError(
        `${portVariable}=${port}: this account may not listen there; ports below 1024 are usually the system's. Set ${portVariable} to 1024 or more, and let a proxy or a port forwarding take ${port}.`,
      );
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new ConfigError(`${hostVariable}=${host}: is not a known host name. ${elsewhere}`);
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
    case "EINVAL":
      return new ConfigError(`${hostVariable}=${host}: is not an address of this machine. ${elsewhere}`);
    default:
      return error;
  }
}

/**
 * Creates the data directory if it is missing.
 * @throws ConfigError when this account cannot write there
 */
export async function prepareDataDir({ dataDir }: Pick<Config, "dataDir">): Promise<void> {
  try {
    await access(await ensureDataDir(dataDir), constants.W_OK | constants.X_OK);
  } catch (error) {
    const advice = DATA_DIR_ADVICE[codeOf(error) ?? ""];
    if (advice === undefined) throw error;
    throw new ConfigError(`DATA_DIR=${dataDir}: ${advice}`, { cause: error });
  }
}

const CHOOSE_ANOTHER = "Set DATA_DIR to a directory that this account may write.";

/** What is wrong with DATA_DIR and what to do about it, by the operating system's code. */
const DATA_DIR_ADVICE: Readonly<Record<string, string>> = {
  EACCES: `this account may not write there. ${CHOOSE_ANOTHER}`,
  EPERM: `this account may not write there. ${CHOOSE_ANOTHER}`,
  EROFS: `it lies on a read-only file system. ${CHOOSE_ANOTHER}`,
  EEXIST: `is a file, and must be a directory. ${CHOOSE_ANOTHER}`,
  ENOTDIR: `a part of it is a file, and must be a directory. ${CHOOSE_ANOTHER}`,
  ENOENT: `it cannot be made there. ${CHOOSE_ANOTHER}`,
  ENOSPC: "its disk is full. Free space there, and start again.",
  EDQUOT: "this account's quota of its disk is used up. Free space there, and start again.",
};
