import type { App } from "../src/app.ts";

/** Milliseconds for answers that are under way: more than any takes here. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Closes an app as `serve` does: gently, then by cutting what is left. A test that looks at an answer's headers alone
 * leaves the rest of a long body on its way, and so a connection that would never become idle.
 */
export async function closeApp({ http }: App): Promise<void> {
  const timer = setTimeout(() => http.server.closeAllConnections(), CLOSE_TIMEOUT_MS);
  await http.close();
  clearTimeout(timer);
}
