import { once } from "node:events";
import { access, constants } from "node:fs/promises";
import { createServer } from "node:net";
import { ensureDataDir } from "@bikeshare/embedded-postgres";
import { type Config, ConfigError } from "../../config.ts";
import { codeOf } from "../../storage/db/errors.ts";
import { type Certificate, readCertificate } from "./certificate.ts";

/** The listening address for requests. */
export const requestsAt = ({ host, port }: Config): ListenAddress => ({
  host,
  port,
  hostVariable: "HOST",
  portVariable: "PORT",
});

const metricsAt = ({ metricsHost: host }: Config, port: number): ListenAddress => ({
  host,
  port,
  hostVariable: "METRICS_HOST",
  portVariable: "METRICS_PORT",
});

/**
 * Runs the checks that need no database, whose opening takes time and creates files.
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

/** An address to listen on, and the variables that configure it. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly hostVariable: string;
  readonly portVariable: string;
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
 * @returns a ConfigError with the reason why a server cannot listen and the remedy, or `error` itself when the reason is
 * unknown
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
