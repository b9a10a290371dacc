import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port of this machine that nothing listens at, for a program that is told its port. It belongs to this process for as
 * long as it runs, also while the program is down:
 * - It is above those that browsers and `fetch` refuse to call, the last of which is 10080.
 * - It is below those that systems give to outgoing connections and to whoever asks for any port (32768 and up), and below
 *   those that clusters of PostgreSQL draw for themselves (20000 and up).
 * - Another test's process that draws the same number finds its port for datagrams taken, which nothing else here uses.
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

/** Whether it happens before an error does. */
function happens(emitter: NodeJS.EventEmitter, event: string): Promise<boolean> {
  return once(emitter, event).then(
    () => true,
    () => false,
  );
}
