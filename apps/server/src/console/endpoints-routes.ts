import type { consoleContract } from "@bikeshare/contract/console";
import type { RouterImplementation } from "@ts-rest/fastify";
import { pauseEndpoint, resumeEndpoint } from "../webhooks/endpoints/endpoint-status.ts";
import { listShownEndpoints, logBytesByPartner } from "../webhooks/endpoints/endpoint-view.ts";
import { retryEndpointNow } from "../webhooks/log/resend.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import { instantOf } from "./dates.ts";

interface EndpointCall {
  readonly params: { readonly partner_id: string };
  readonly request: ConsoleRequest;
}

/** Every partner's endpoint, for the operator. */
export function endpointRoutes(context: ConsoleContext): RouterImplementation<typeof consoleContract>["endpoints"] {
  const acting = ({ request, params }: EndpointCall) => {
    const { systemId, actor } = consoleCaller(request);
    return { actor: { ...context, actor }, scope: { systemId, partnerId: params.partner_id } };
  };
  return {
    list: async ({ request }) => {
      const { systemId } = consoleCaller(request);
      const { endpoints, workers } = await listShownEndpoints(context, systemId);
      const logBytes = await logBytesByPartner(context, systemId);
      const data = endpoints.map(({ paused_at: _pausedAt, ...endpoint }) => ({
        ...endpoint,
        failing_since: instantOf(endpoint.failing_since),
        oldest_due: instantOf(endpoint.oldest_due),
        log_bytes: logBytes.get(endpoint.partner_id) ?? 0,
      }));
      return { status: 200, body: { data, workers } };
    },
    pause: async (call) => {
      const { actor, scope } = acting(call);
      const { changed } = await pauseEndpoint(actor, { ...scope, reason: "operator", takesOver: true });
      return { status: 200, body: { changed } };
    },
    resume: async (call) => {
      const { actor, scope } = acting(call);
      const { changed } = await resumeEndpoint(actor, scope);
      return { status: 200, body: { changed } };
    },
    retryNow: async (call) => {
      const { actor, scope } = acting(call);
      return { status: 200, body: { deliveries: await retryEndpointNow(actor, scope) } };
    },
  };
}
