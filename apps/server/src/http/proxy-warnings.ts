import type { IncomingMessage } from "node:http";
import type { FastifyBaseLogger } from "fastify";
import { isLoopback, type NetworkList } from "../addresses/network-list.ts";
import type { ProxyMisconfiguration, Transport } from "./transport.ts";

const MESSAGES: Readonly<Record<ProxyMisconfiguration, string>> = {
  untrusted:
    "A proxy on this machine forwards requests, but TRUSTED_PROXIES does not name it: every caller counts as this machine, and a request that the proxy does not say came by https is refused. Set TRUSTED_PROXIES to the proxy's address.",
  scheme_missing:
    "A proxy of TRUSTED_PROXIES does not send X-Forwarded-Proto, so its requests are refused: they may have come over plain HTTP. Let it set the header to the scheme its caller used.",
};

/** Logs each misconfiguration that requests show, once: it lasts, and every request would show it again. */
export function withProxyWarnings(
  transport: (request: IncomingMessage) => Transport,
  log: Pick<FastifyBaseLogger, "error">,
): (request: IncomingMessage) => Transport {
  const reported = new Set<ProxyMisconfiguration>();
  return (request) => {
    const found = transport(request);
    const { misconfiguration } = found;
    if (misconfiguration !== undefined && !reported.has(misconfiguration)) {
      reported.add(misconfiguration);
      log.error({ peer: request.socket.remoteAddress }, MESSAGES[misconfiguration]);
    }
    return found;
  };
}

/** Warns of a listener that others can reach but whose answers they will never get: plain HTTP, and no proxy is named. */
export function warnOfPlainListener(
  { host, hasTls, trustedProxies }: { host: string; hasTls: boolean; trustedProxies: NetworkList },
  log: Pick<FastifyBaseLogger, "warn">,
): void {
  if (hasTls || trustedProxies.networks.length > 0 || host === "localhost" || isLoopback(host)) return;
  log.warn(
    `HOST=${host} is not loopback, and there is neither TLS nor a proxy: every request from another machine will be refused, but /healthz and /readyz. Set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES.`,
  );
}
