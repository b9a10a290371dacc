import { type Config, ConfigError } from "../../config.ts";
import { codeOf, isDiskFull, isUnavailable, sqlState } from "../../storage/db/errors.ts";

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
 * @returns `error` itself where no disk is full
 */
export function explainFullDisk(error: unknown, config: Pick<Config, "databaseUrl" | "dataDir">): unknown {
  if (!isDiskFull(error)) return error;
  // Failures without an SQLSTATE come from files of this process, such as reports and files to import.
  const isOurs = config.databaseUrl === undefined || codeOf(error) !== sqlState.diskFull;
  const disk = isOurs ? `DATA_DIR (${config.dataDir})` : "the database";
  return new Error(`The disk of ${disk} is full: ${reasonOf(error)}. Free space there, and run the command again.`);
}

function explained(message: string, cause: unknown): ConfigError {
  // The message contains the cause's; attached as a cause it would be printed twice.
  const reason = reasonOf(cause);
  return new ConfigError(reason === "" ? message : `${message} (${reason})`);
}

/** Names the host, the role and the database, without the password. */
function adviceFor(error: unknown, url: URL): string | undefined {
  const code = codeOf(error) ?? "";
  const at = url.host === "" ? "the local socket" : url.host;
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

/** OpenSSL's and Node's codes for a certificate that is not trusted. */
const UNTRUSTED_CERTIFICATE_CODES: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_HAS_EXPIRED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

function byCode(names: {
  readonly at: string;
  readonly user: string;
  readonly database: string;
}): Readonly<Record<string, string>> {
  const { at, user, database } = names;
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
    ENOENT: "a file that it names is not there: see sslrootcert, sslcert and sslkey.",
    EACCES: "a file that it names may not be read by this account: see sslrootcert, sslcert and sslkey.",
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

/** Failures without a code. */
function byText(error: unknown, at: string): string | undefined {
  const text = reasonOf(error);
  if (/does not support SSL/.test(text)) {
    return `the server at ${at} speaks no TLS. Turn it on there (ssl = on), or say sslmode=disable where the way to it is safe.`;
  }
  if (/timeout/i.test(text)) return `${at} does not answer. Correct the host and the port, or check the firewall.`;
  return undefined;
}

function reasonOf(error: unknown): string {
  // An attempt to reach several addresses has one reason for each.
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join("; ");
  return error instanceof Error ? error.message : String(error);
}
