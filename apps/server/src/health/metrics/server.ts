import { createServer, type Server, type ServerResponse } from "node:http";
import { explainListenFailure } from "../../runtime/startup/checks.ts";
import type { MetricsFormat, ReadableMetrics } from "./registry.ts";

/* Serves the metrics and the state of a process on a port of its own. */

export interface MetricsServerOptions {
  /** Loopback by default, because the metrics are not for the public. */
  readonly host?: string;
  /** 0: any free one. */
  readonly port: number;
  readonly metrics: Pick<ReadableMetrics, "text">;
  /**
   * Returns the concerns that an operator should look into.
   * @throws NotReady while the process starts or stops; another Error while its database cannot be reached
   */
  readonly ready?: () => Promise<readonly string[]>;
  readonly logger: { warn(detail: object, message: string): void };
}

/** The error of a process that cannot do its work yet, or any more. `/readyz` shows the message. */
export class NotReady extends Error {
  override readonly name = "NotReady";
}

/** A server that shows the metrics. */
export interface MetricsServer {
  /** The base address. */
  readonly url: string;
  /** Stops listening and closes all connections: scrapers connect again. */
  close(): Promise<void>;
}

/**
 * Milliseconds for receiving a whole request, and for an idle connection. Too high: keeps dead connections. Also the
 * interval at which Node looks for requests that have taken longer: its default of 30 s would allow 35 s.
 */
const REQUEST_TIMEOUT_MS = 5_000;
/** Maximum connections. A deployment has few scrapers; more connections come from a mistake. */
const MAX_CONNECTIONS = 32;

/**
 * Answers `GET /metrics`, `GET /healthz` and `GET /readyz`, and nothing else. Has a separate port, so that a proxy in front
 * of the service's port need not hide them.
 * @throws Error naming METRICS_PORT when the port is taken
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { host = "127.0.0.1", port, metrics, logger, ready = () => Promise.resolve([]) } = options;
  const server = createServer({
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: REQUEST_TIMEOUT_MS,
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on("request", ({ method, url = "/", headers }, response) => {
    const path = method === "GET" || method === "HEAD" ? url.replace(/\?.*$/, "") : undefined;
    if (path === "/healthz") answer(response, 200, "text/plain", "ok\n");
    else if (path === "/readyz") showReadiness(response, ready);
    else if (path !== "/metrics")
      answer(response, 404, "text/plain", "Only GET /metrics, /healthz and /readyz are here.\n");
    else showMetrics(response, formatFor(headers.accept), { metrics, logger, isOpen: () => server.listening });
  });
  await listen(server, host, port);
  return { url: addressOf(server, host), close: () => close(server) };
}

/** Answers `/readyz` as the service's own port does, so that one probe works for every role. */
function showReadiness(response: ServerResponse, ready: () => Promise<readonly string[]>): void {
  const say = (status: number, body: object) => answer(response, status, "application/json", JSON.stringify(body));
  ready().then(
    (concerns) => say(200, concerns.length === 0 ? { status: "ok" } : { status: "ok", concerns }),
    // Other messages stay here: they may name addresses and accounts of the database.
    (error: unknown) =>
      say(503, {
        error: "unavailable",
        message: error instanceof NotReady ? error.message : "The database cannot be reached.",
      }),
  );
}

const CONTENT_TYPES: Readonly<Record<MetricsFormat, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/**
 * Returns the format that an `Accept` header asks for. Prometheus asks for OpenMetrics; a person without the header gets the
 * simpler format.
 */
function formatFor(accept = ""): MetricsFormat {
  return accept.includes("application/openmetrics-text") ? "openmetrics" : "prometheus";
}

function showMetrics(
  response: ServerResponse,
  format: MetricsFormat,
  { metrics, logger, isOpen }: Pick<MetricsServerOptions, "metrics" | "logger"> & { readonly isOpen: () => boolean },
): void {
  metrics.text(format).then(
    (text) => answer(response, 200, CONTENT_TYPES[format], text),
    (error: unknown) => {
      // What the metrics read, such as the database, closes with the process: nothing is wrong, and nobody waits.
      if (!isOpen()) return;
      logger.warn({ err: error }, "metrics cannot be read");
      answer(response, 500, "text/plain", "The metrics cannot be read; the log says why.\n");
    },
  );
}

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) }).end(body);
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, host, resolve);
  try {
    await promise;
  } catch (error) {
    throw explainListenFailure(error, { host, port, hostVariable: "METRICS_HOST", portVariable: "METRICS_PORT" });
  } finally {
    server.off("error", reject);
  }
}

function addressOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  await promise;
}
