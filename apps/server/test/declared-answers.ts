import { batchResults, type EndpointMetadata, errorBody } from "@bikeshare/contract";
import type { App } from "../src/app.ts";

/**
 * Compares every response of an app with what the contract declares for its endpoint: the status, the code of a 409, and the
 * codes of item errors.
 * @returns a list that grows with each undeclared response
 */
export function findUndeclaredAnswers({ http }: App): readonly string[] {
  const undeclared: string[] = [];
  http.addHook("onSend", (request, reply, payload, next) => {
    const route = request.routeOptions.config.tsRestRoute;
    if (route !== undefined && (typeof payload === "string" || Buffer.isBuffer(payload))) {
      const { statusCode: status } = reply;
      const note = (what: string) => undeclared.push(`${route.method} ${route.path} answered ${status} ${what}`);
      const { conflicts = [], itemErrors } = route.metadata as EndpointMetadata;
      if (!(status in route.responses) && status !== 304) note(String(payload));
      else if (status === 409) {
        const { error } = errorBody.parse(JSON.parse(String(payload)));
        if (!conflicts.includes(error)) note(error);
      } else if (status === 200 && itemErrors !== undefined) {
        const { results } = batchResults.parse(JSON.parse(String(payload)));
        for (const { error } of results) if (error !== null && !itemErrors.includes(error.error)) note(error.error);
      }
    }
    next(null, payload);
  });
  return undeclared;
}
