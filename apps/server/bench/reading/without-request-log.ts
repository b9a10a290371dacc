import { registerHooks } from "node:module";

/* The service without its log of requests and the counts by key, which no setting turns off: what they cost is measured beside it. */

registerHooks({
  load: (url, context, next) =>
    url.endsWith("/src/http/logged-requests.ts")
      ? { format: "module", source: "export function logRequests() {}", shortCircuit: true }
      : next(url, context),
});
await import("../../src/main.ts");
