import { type Config, ConfigError } from "../config.ts";
import { codeOf, isDiskFull, isUnavailable, sqlState } from "../db/errors.ts";

/**
 * What kept the database from being opened, said so that an operator can mend it: the variable, what is wrong, what to do.
 * @returns a ConfigError, or `error` as it is where the configuration is not to blame
 */
export function explainDatabaseFailure(error: unknown, config: Pick<Config, "databaseUrl" | "dataDir">): unknown {
  if (config.databaseUrl === undefined) {
    if (!isDiskFull(error)) return error;
    return explained(`DATA_DIR=${config.dataDir}: its disk is full. Make room there, and start again.`, error);
  }
  const advice = adviceFor(error, new URL(config.databaseUrl));
  return advice === undefined ? error : explained(`DATABASE_URL: ${advice}`, error);
}

/**
 * What a full disk did to a command, said so that an operator knows which disk.
 * @returns `error` as it is where no disk is full
 */
export function explainFullDisk(error: unknown, config: Pick<Config, "databaseUrl" | "dataDir">): unknown {
  if (!isDiskFull(error)) return error;
  // What a program finds out by itself is about files of ours: what waits to be imported, and reports.
  const isOurs = config.databaseUrl === undefined || codeOf(error) !== sqlState.diskFull;
  const disk = isOurs ? `DATA_DIR (${config.dataDir})` : "the database";
  return new Error(`The disk of ${disk} is full: ${reasonOf(error)}. Make room there, and run the command again.`);
}

function explained(message: string, cause: unknown): ConfigError {
  // The cause's own words are in the message; as a cause they would be printed a second time.
  const reason = reasonOf(cause);
  return new ConfigError(reason === "" ? message : `${message} (${reason})`);
}

/** Where, who and what, without the password. */
function adviceFor(error: unknown, url: URL): string | undefined {
  const code = codeOf(error) ?? "";
  const at = url.host === "" ? "the local socket" : url.host;
  const user = decodeURIComponent(url.username);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (isDiskFull(error)) return `the disk of the database at ${at} is full. Make room there.`;
  const advice = byCode({ at, user, database })[code];
  if (advice !== undefined) return advice;
  if (TLS_FAULTS.has(code)) {
    return `the certificate of ${at} is not trusted. Give its authority with sslrootcert=<file>, and a host that the certificate names; sslmode=require encrypts without looking at it.`;
  }
  return (
    byText(error, at) ?? (isUnavailable(error) ? `the database at ${at} does not answer as it should.` : undefined)
  );
}

/** OpenSSL's and Node's names for a certificate that proves nothing. */
const TLS_FAULTS: ReadonlySet<string> = new Set([
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
  const away = `nothing listens at ${at}. Start PostgreSQL there, or correct the host and the port.`;
  const login = `${at} refuses ${role}. Correct the user and the password (characters such as @ and / are written %40 and %2F), or let pg_hba.conf admit it.`;
  const rights = `${role} may not create tables in the schema public of "${database}". Run there: grant create on schema public to "${user}"; or make the role the owner of the database.`;
  return {
    ECONNREFUSED: away,
    EHOSTUNREACH: away,
    ENETUNREACH: away,
    ETIMEDOUT: away,
    ENOTFOUND: `there is no host of the name ${at}. Correct the host.`,
    EAI_AGAIN: `the name ${at} cannot be looked up at present. Correct the host, or look at the name server.`,
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

/** Failures that carry no code. */
function byText(error: unknown, at: string): string | undefined {
  const text = reasonOf(error);
  if (/does not support SSL/.test(text)) {
    return `the server at ${at} speaks no TLS. Turn it on there (ssl = on), or say sslmode=disable where the way to it is safe.`;
  }
  if (/timeout/i.test(text)) return `${at} does not answer. Correct the host and the port, or look at the firewall.`;
  return undefined;
}

function reasonOf(error: unknown): string {
  // An attempt at several addresses has the reasons in its parts.
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join("; ");
  return error instanceof Error ? error.message : String(error);
}
