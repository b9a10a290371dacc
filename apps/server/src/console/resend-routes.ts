import type { ResendSelection } from "@bikeshare/contract/console";
import type { PartnerScope } from "../webhooks/endpoints/endpoint-context.ts";
import { type ResendChoice, cancelResend, countResend, showResend, startResend } from "../webhooks/log/resend.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller, partnerCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import { filterOf } from "./delivery-json.ts";
import type { LongReads, LongRequest } from "./long-reads.ts";

type Routes = ConsoleRoutes;

interface ResendCall {
  readonly params: { readonly partner_id: string; readonly resend_id?: string };
  readonly request: LongRequest;
}

interface ChoosingCall extends ResendCall {
  readonly body: ResendSelection;
}

/** The person who sends deliveries again, and the deliveries' owner. */
interface Resender {
  readonly actor: string;
  readonly scope: PartnerScope;
}

/** A partner's deliveries sent again by its admins, many at once. */
export function resendRoutes(context: ConsoleContext, long: LongReads): Routes["resends"] {
  return routesFor(context, long, ({ request }) => {
    const { actor, systemId, partnerId } = partnerCaller(request);
    return { actor, scope: { systemId, partnerId } };
  });
}

/** The same by the operator's admins. */
export function systemResendRoutes(context: ConsoleContext, long: LongReads): Routes["systemResends"] {
  return routesFor(context, long, ({ request, params }) => {
    const { actor, systemId } = consoleCaller(request);
    return { actor, scope: { systemId, partnerId: params.partner_id } };
  });
}

function routesFor(context: ConsoleContext, long: LongReads, resenderOf: (call: ResendCall) => Resender) {
  return {
    count: async (call: ChoosingCall) => {
      const { actor, scope } = resenderOf(call);
      const count = () => countResend({ ...context, actor }, scope, choiceOf(call.body));
      return { status: 200 as const, body: { total: await long.hold(call.request, count) } };
    },
    create: async (call: ChoosingCall) => {
      const { actor, scope } = resenderOf(call);
      const start = () => startResend({ ...context, actor }, scope, choiceOf(call.body));
      return { status: 200 as const, body: await long.hold(call.request, start) };
    },
    get: async (call: ResendCall) => ({
      status: 200 as const,
      body: await showResend(context, resenderOf(call).scope, call.params.resend_id ?? ""),
    }),
    cancel: async (call: ResendCall) => {
      const { actor, scope } = resenderOf(call);
      return {
        status: 200 as const,
        body: await cancelResend({ ...context, actor }, scope, call.params.resend_id ?? ""),
      };
    },
  };
}

function choiceOf({ ids, filters = {} }: ResendSelection): ResendChoice {
  return ids === undefined ? { filter: filterOf(filters) } : { ids };
}
