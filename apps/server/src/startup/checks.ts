import type { Config } from "../config.ts";
import { type Certificate, readCertificate } from "./certificate.ts";
import { prepareDataDir } from "./data-dir.ts";
import { type ListenAt, mustBeFree } from "./listening.ts";

/** Where requests are answered. */
export const requestsAt = ({ host, port }: Config): ListenAt => ({
  host,
  port,
  hostVariable: "HOST",
  portVariable: "PORT",
});

const metricsAt = ({ metricsHost: host }: Config, port: number): ListenAt => ({
  host,
  port,
  hostVariable: "METRICS_HOST",
  portVariable: "METRICS_PORT",
});

/**
 * What can be known to be wrong before the database is opened, which may take a while and leaves things behind.
 * @returns the certificate, where there is one
 * @throws ConfigError
 */
export async function checkBeforeWork(
  config: Config,
  role: "all" | "api" | "worker",
): Promise<Certificate | undefined> {
  const certificate = config.tls === undefined ? undefined : await readCertificate(config.tls);
  if (role !== "worker") await mustBeFree(requestsAt(config));
  if (config.metricsPort !== undefined) await mustBeFree(metricsAt(config, config.metricsPort));
  if (config.databaseUrl === undefined || config.secretsFile === undefined) await prepareDataDir(config);
  return certificate;
}
