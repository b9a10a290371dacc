import { type Deprecation, deprecationHeaders, type EndpointMetadata } from "@bikeshare/contract";
import type { FastifyInstance } from "fastify";

/** A route that is to be retired. */
export interface DeprecatedRoute extends Deprecation {
  /** As usage is counted: `GET /v1/rides/:id`. */
  readonly route: string;
}

/**
 * Sends what the contract says of endpoints that are to be retired with each of their answers, errors included. Only their
 * routes get a hook.
 * @returns these routes; those that are added later are added to it
 */
export function announceDeprecations(app: FastifyInstance): readonly DeprecatedRoute[] {
  const routes: DeprecatedRoute[] = [];
  app.addHook("onRoute", (route) => {
    const metadata = route.config?.tsRestRoute?.metadata as EndpointMetadata | undefined;
    if (metadata?.deprecated === undefined) return;
    const { deprecated } = metadata;
    for (const method of [route.method].flat()) routes.push({ ...deprecated, route: `${method} ${route.url}` });
    const headers = deprecationHeaders(deprecated);
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (_request, reply, payload, done) => {
        reply.headers(headers);
        done(null, payload);
      },
    ];
  });
  return routes;
}
