import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Returns a free port of this machine, for a program that takes its port as an option. The port is reserved for this
 * process until it ends, even while the program does not run:
 * - It is above the ports that browsers and `fetch` refuse to call (up to 10080).
 * - It is below the ports that systems give to outgoing connections and to listeners on port 0 (from 32768), and below the
 *   ports that embedded PostgreSQL chooses (from 20000).
 * - This process binds the UDP port of the same number. Another test's process that draws this number cannot bind it, and
 *   draws again. Nothing else here uses UDP.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(11_000, 20_000);
    const claim = createSocket("udp4").unref();
    claim.bind({ port, address: "127.0.0.1" });
    if (!(await happens(claim, "listening"))) continue;
    const listener = createServer().listen({ port, host: "127.0.0.1" });
    if (await happens(listener, "listening")) {
      listener.close();
      await once(listener, "close");
      return port;
    }
    claim.close();
  }
}

/** Tells whether `event` is emitted before an error. */
function happens(emitter: NodeJS.EventEmitter, event: string): Promise<boolean> {
  return once(emitter, event).then(
    () => true,
    () => false,
  );
}
