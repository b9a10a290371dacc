import { registerHooks } from "node:module";

/*
 * Loaded before the service (`node --import`). Removes the request log and the counts by key, to measure what they cost. No
 * setting can turn them off.
 */

registerHooks({
  load: (url, context, next) =>
    url.endsWith("/src/http/logged-requests.ts")
      ? { format: "module", source: "export function logRequests() {}", shortCircuit: true }
      : next(url, context),
});
