import { type Deprecation, deprecationHeaders, type EndpointMetadata } from "@bikeshare/contract";
import type { FastifyInstance } from "fastify";

/** A route that is to be retired. */
export interface DeprecatedRoute extends Deprecation {
  /** The route as usage counts it: `GET /v1/rides/:id`. */
  readonly route: string;
}

/**
 * Adds the contract's deprecation headers to each response of a deprecated endpoint, errors included. Only their routes get
 * a hook.
 * @returns these routes; later ones are added to the same array
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
