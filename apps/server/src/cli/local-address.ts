import type { Config } from "../config.ts";

/** Where a service with this configuration is reached from this machine, whatever its public address is. */
export function localAddress({ host, port, tls }: Pick<Config, "host" | "port" | "tls">): string {
  const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };
  const name = everywhere[host] ?? (host.includes(":") ? `[${host}]` : host);
  return `${tls === undefined ? "http" : "https"}://${name}:${port}`;
}
