import type { consoleContract, Probe, Webhook } from "@bikeshare/contract/console";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { ProbedAddress } from "../webhooks/address-probe.ts";
import { rotateSecret, showSecret } from "../webhooks/endpoints/endpoint-secrets.ts";
import { setEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";
import { pauseEndpoint, removeEndpoint, resumeEndpoint } from "../webhooks/endpoints/endpoint-status.ts";
import { type EndpointView, findShownEndpoint } from "../webhooks/endpoints/endpoint-view.ts";
import { showBody } from "../webhooks/log/delivery-view.ts";
import { adviceOn } from "../webhooks/log/failure-advice.rules.ts";
import { retryEndpointNow, sendTestDelivery } from "../webhooks/log/resend.ts";
import { type ConsoleRequest, partnerCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import { instantOf } from "./dates.ts";
import { withoutCredentials } from "./delivery-json.ts";
import { describeEvents } from "./event-descriptions.ts";

type Routes = RouterImplementation<typeof consoleContract>["webhook"];

const HOUR_MS = 3_600_000;

/** A partner's webhook: its address, events and secret, and how it does. */
export function webhookRoutes(context: ConsoleContext): Routes {
  const { webhookRules: rules } = context;
  return {
    ...statusRoutes(context),
    ...secretRoutes(context),
    show: async ({ request }) => {
      const view = await findShownEndpoint(context, scopeOf(request));
      return { status: 200, body: { webhook: view === undefined ? null : shown(view) } };
    },
    events: async () => ({ status: 200, body: { data: [...(await describeEvents())] } }),
    set: async ({ body, request }) => {
      const made = await setEndpoint({ ...secretContext(context, request), rules }, { ...scopeOf(request), ...body });
      return {
        status: 200,
        body: {
          outcome: made.outcome,
          has_new_secret: made.secret !== null,
          old_secrets_end_at: instantOf(made.old_secrets_end_at),
        },
      };
    },
    probe: async ({ body: { url, event = "ride.completed" }, request }) => {
      const { person } = partnerCaller(request);
      const input = { ...scopeOf(request), personId: person.id, url, event };
      const probed = await context.addressProber.probe(secretContext(context, request), input);
      return { status: 200, body: probeJson(probed) };
    },
    test: async ({ body: { event }, request }) => {
      const id = await sendTestDelivery(actorContext(context, request), { ...scopeOf(request), event });
      return { status: 200, body: { delivery_id: id } };
    },
  };
}

/** What is done with a whole webhook, under the name of whoever does it. */
function statusRoutes(context: ConsoleContext): Pick<Routes, "pause" | "resume" | "retryNow" | "remove"> {
  const by = "partner";
  return {
    pause: async ({ request }) => {
      const input = { ...scopeOf(request), reason: by } as const;
      const { changed } = await pauseEndpoint(actorContext(context, request), input);
      return { status: 200, body: { changed } };
    },
    resume: async ({ request }) => {
      const { changed } = await resumeEndpoint(actorContext(context, request), { ...scopeOf(request), by });
      return { status: 200, body: { changed } };
    },
    retryNow: async ({ request }) => ({
      status: 200,
      body: { deliveries: await retryEndpointNow(actorContext(context, request), scopeOf(request)) },
    }),
    remove: async ({ request }) => {
      const { changed } = await removeEndpoint(actorContext(context, request), { ...scopeOf(request), by });
      return { status: 200, body: { changed } };
    },
  };
}

function secretRoutes(context: ConsoleContext): Pick<Routes, "showSecret" | "rotateSecret"> {
  return {
    showSecret: async ({ request }) => ({
      status: 200,
      body: await showSecret(secretContext(context, request), scopeOf(request)),
    }),
    rotateSecret: async ({ body, request }) => {
      const input = { ...scopeOf(request), overlap: body.overlap_hours * HOUR_MS };
      const { secret, old_secrets_end_at: endAt } = await rotateSecret(secretContext(context, request), input);
      return { status: 200, body: { secret, old_secrets_end_at: endAt.toISOString() } };
    },
  };
}

function scopeOf(request: ConsoleRequest) {
  const { systemId, partnerId } = partnerCaller(request);
  return { systemId, partnerId };
}

function actorContext(context: ConsoleContext, request: ConsoleRequest) {
  return { ...context, actor: partnerCaller(request).actor };
}

function secretContext(context: ConsoleContext, request: ConsoleRequest) {
  return { ...actorContext(context, request), cipher: context.webhookCipher };
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

function probeJson({ isAllowed, steps, isSignedWithSecret, body, result }: ProbedAddress): Probe {
  const { outcome, status, failure, sentHeaders, answerHeaders, answerBody, answerCut } = result;
  const request = {
    headers: withoutCredentials(sentHeaders),
    body: { encoding: "utf-8" as const, text: body, truncated: false },
  };
  return {
    is_allowed: isAllowed,
    is_accepted: outcome === "succeeded",
    steps: steps.map((step) => ({ ...step })),
    advice: adviceOn({ outcome, failure, status }),
    is_signed_with_secret: isSignedWithSecret,
    remote_address: result.remoteAddress,
    total_ms: result.timings.total,
    request: sentHeaders.length === 0 ? null : request,
    response:
      status === null
        ? null
        : {
            status,
            headers: withoutCredentials(answerHeaders),
            body: showBody(answerBody, answerCut),
            truncation_reason: null,
          },
  };
}
