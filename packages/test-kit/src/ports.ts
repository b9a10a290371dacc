import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port of this machine that nothing listens at, for a program that is told its port. It is below those that systems give
 * to outgoing connections (32768 and up): one of these may be taken before the program listens, or while it is down.
 */
export async function findFreePort(): Promise<number> {
  const port = randomInt(20_000, 32_768);
  const listener = createServer().listen(port, "127.0.0.1");
  const isFree = await once(listener, "listening").then(
    () => true,
    () => false,
  );
  if (!isFree) return findFreePort();
  listener.close();
  await once(listener, "close");
  return port;
}
