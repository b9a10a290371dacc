import type { consoleContract, Webhook } from "@bikeshare/contract/console";
import type { RouterImplementation } from "@ts-rest/fastify";
import { showSecret } from "../webhooks/endpoints/endpoint-secrets.ts";
import { type EndpointView, findShownEndpoint } from "../webhooks/endpoints/endpoint-view.ts";
import { showHeld } from "../webhooks/endpoints/held.ts";
import { type ConsoleRequest, consoleSession, partnerCaller, requireConfirmed } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import { instantOf } from "./dates.ts";
import { describeEvents } from "./event-descriptions.ts";
import type { LongReads } from "./long-reads.ts";
import { settingsJson, setWebhook, webhookChanges, type WebhookCaller } from "./webhook-changes.ts";

/** A partner's webhook: its address, events and secret, and how it does. */
export function webhookRoutes(
  context: ConsoleContext,
  long: LongReads,
): RouterImplementation<typeof consoleContract>["webhook"] {
  return {
    ...webhookChanges(context, callerOf),
    show: async (call) => {
      const view = await long.hold(call.request, () => findShownEndpoint(context, callerOf(call).scope));
      return { status: 200, body: { webhook: view === undefined ? null : shown(view) } };
    },
    held: async (call) => {
      const { total, until } = await long.hold(call.request, () => showHeld(context, callerOf(call).scope));
      return { status: 200, body: { total, until: until.toISOString() } };
    },
    events: async () => ({ status: 200, body: { data: [...(await describeEvents())] } }),
    set: async (call) => {
      const session = consoleSession(call.request);
      // Whoever has found an open page must not have all deliveries sent elsewhere.
      const permitNewOrigin = () => requireConfirmed(session, context.clock());
      const made = await setWebhook({ ...context, permitNewOrigin }, callerOf(call), call.body);
      return { status: 200, body: settingsJson(made) };
    },
    showSecret: async (call) => {
      const { actor, scope } = callerOf(call);
      return { status: 200, body: await showSecret({ ...context, actor, cipher: context.webhookCipher }, scope) };
    },
  };
}

/** Whose webhook, and which of its partner's people asks. */
function callerOf({ request }: { readonly request: ConsoleRequest }): WebhookCaller {
  const { person, actor, systemId, partnerId } = partnerCaller(request);
  return { personId: person.id, actor, scope: { systemId, partnerId }, by: "partner" };
}

function shown({ partner_id: _partnerId, ...view }: EndpointView): Webhook {
  return {
    ...view,
    events: [...view.events],
    unreadable_events: [...view.unreadable_events],
    paused_at: instantOf(view.paused_at),
    created_at: view.created_at.toISOString(),
    updated_at: view.updated_at.toISOString(),
    failing_since: instantOf(view.failing_since),
    oldest_due: instantOf(view.oldest_due),
    held_since: instantOf(view.held_since),
    secrets: view.secrets.map(({ id, expires_at }) => ({ id, expires_at: instantOf(expires_at) })),
    replays: view.replays.map(({ id, since, until, total, queued, created_at, finished_at }) => ({
      ...{ id, total, queued },
      since: since.toISOString(),
      until: until.toISOString(),
      created_at: created_at.toISOString(),
      finished_at: instantOf(finished_at),
    })),
  };
}
