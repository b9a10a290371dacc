import { dateOf } from "../iso-instant.ts";
import { listShownEndpoints, logBytesByPartner } from "../webhooks/endpoints/endpoint-view.ts";
import { createReplay, stopReplay } from "../webhooks/log/replays.ts";
import { redeliver } from "../webhooks/log/resend.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";
import type { ConsoleContext, LongReads } from "./context.ts";
import { settingsJson, setWebhook, type WebhookCaller, webhookChanges } from "./webhook-routes.ts";

type Routes = ConsoleRoutes["endpoints"];

interface EndpointCall {
  readonly params: { readonly partner_id: string };
  readonly request: ConsoleRequest;
}

/** Every partner's endpoint, for the operator. */
export function endpointRoutes(context: ConsoleContext, long: LongReads): Routes {
  return {
    ...webhookChanges(context, callerOf),
    ...sendingAgain(context),
    list: async ({ request }) => {
      const { systemId } = consoleCaller(request);
      const [{ endpoints, workers }, logBytes] = await long.hold(request, () =>
        Promise.all([listShownEndpoints(context, systemId), logBytesByPartner(context, systemId)]),
      );
      const data = endpoints.map((endpoint) => ({ ...endpoint, log_bytes: logBytes.get(endpoint.partner_id) ?? 0 }));
      return { status: 200, body: { data, workers } };
    },
    set: async (call) => {
      const made = await setWebhook(context, callerOf(call), call.body);
      return { status: 200, body: { ...settingsJson(made), secret: made.secret } };
    },
  };
}

/** One delivery, or a range of them, sent once more. */
function sendingAgain(context: ConsoleContext): Pick<Routes, "resend" | "replay" | "stopReplay"> {
  return {
    resend: async (call) => {
      const { actor, scope } = callerOf(call);
      return { status: 200, body: await redeliver({ ...context, actor }, scope, call.params.delivery_id) };
    },
    replay: async (call) => {
      const { actor, scope } = callerOf(call);
      const { since, until, statuses, dry_run: dryRun } = call.body;
      const range = { since: new Date(since), until: dateOf(until), statuses };
      const made = await createReplay({ ...context, actor }, { ...scope, ...range, dryRun });
      return { status: 200, body: made };
    },
    stopReplay: async ({ params: { replay_id: id }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      return { status: 200, body: await stopReplay({ ...context, actor }, systemId, id) };
    },
  };
}

/** Returns the partner of an endpoint, and the operator's person who changes it. */
function callerOf({ request, params }: EndpointCall): WebhookCaller {
  const { person, systemId, actor } = consoleCaller(request);
  return { personId: person.id, actor, scope: { systemId, partnerId: params.partner_id }, by: "operator" };
}
