import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import { pipeline } from "node:stream";

/** A load balancer on loopback. It distributes requests over the ready processes in turn, and never repeats a request. */
export interface Balancer {
  readonly url: string;
  /** The number of requests that each process has answered, by address. */
  readonly answered: ReadonlyMap<string, number>;
  /** Returns the addresses of the ready processes. */
  ready(): readonly string[];
  add(address: string): void;
  remove(address: string): void;
  close(): Promise<void>;
}

const CHECK_INTERVAL_MS = 50;
/** As in deploy/haproxy: a process that is only slow is not removed. */
const CHECK_TIMEOUT_MS = 4_000;

export async function startBalancer(): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  const addresses = new Set<string>();
  const answered = new Map<string, number>();
  let ready: readonly string[] = [];
  let next = 0;
  let checking: Promise<void> | undefined;
  const check = async () => {
    const all = [...addresses];
    const statuses = await Promise.all(
      all.map((address) =>
        fetch(`${address}/readyz`, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) }).then(
          ({ ok }) => ok,
          () => false,
        ),
      ),
    );
    ready = all.filter((_, index) => statuses[index]);
  };
  const timer = setInterval(() => {
    checking ??= check().finally(() => (checking = undefined));
  }, CHECK_INTERVAL_MS);
  const server = createServer((incoming, outgoing) => {
    const address = ready[next++ % ready.length];
    if (address === undefined) {
      outgoing.writeHead(502).end();
      return;
    }
    const { method, url, headers } = incoming;
    const passed = request(address + url, { method, headers, agent }, (response) => {
      answered.set(address, (answered.get(address) ?? 0) + 1);
      if (outgoing.destroyed) {
        response.destroy();
        return;
      }
      // Removes headers that are meant for the balancer, not for its client. With the process's `Keep-Alive` the client would
      // use connections that the balancer has closed.
      delete response.headers.connection;
      delete response.headers["keep-alive"];
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      // If the process ends in the middle of its response, the client's response is cut off too.
      pipeline(response, outgoing, () => undefined);
    });
    passed.on("error", () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
    incoming.pipe(passed);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const own = server.address();
  return {
    url: `http://127.0.0.1:${typeof own === "object" ? own?.port : ""}`,
    answered,
    ready: () => ready,
    add: (address) => void addresses.add(address),
    remove: (address) => void addresses.delete(address),
    close: async () => {
      clearInterval(timer);
      await checking;
      server.closeAllConnections();
      server.close();
      agent.destroy();
    },
  };
}
