import type { App } from "../src/app.ts";

/** Milliseconds for running requests. No request of the tests takes longer. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Closes an app as `serve` does: waits for running requests, then closes the remaining connections. A test that reads only
 * the headers of a response leaves its body unread, so its connection would never become idle.
 */
export async function closeApp({ http }: App): Promise<void> {
  const timer = setTimeout(() => http.server.closeAllConnections(), CLOSE_TIMEOUT_MS);
  await http.close();
  clearTimeout(timer);
}
