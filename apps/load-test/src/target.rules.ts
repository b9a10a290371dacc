/** Thrown for a target that is no plain http or https URL, or that is another machine without `--yes`. */
export class TargetError extends Error {
  override readonly name = "TargetError";
}

/**
 * Checks that the target may be loaded: a service on this machine always, any other only with `--yes`.
 * @returns the target without slashes at its end
 * @throws TargetError
 */
export function requireTarget(text: string, isConfirmed: boolean): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "" || url.hash !== "") {
    throw new TargetError("--url must be an http or https URL without user and query, such as http://127.0.0.1:3000.");
  }
  if (!isLoopback(url.hostname) && !isConfirmed) {
    throw new TargetError(
      `${url.hostname} is not this machine. Load it only if it is yours to load: say --yes to confirm.`,
    );
  }
  return text.replace(/\/+$/, "");
}

/** Tells whether a host is this machine. The URL parser has already normalised IP addresses. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
