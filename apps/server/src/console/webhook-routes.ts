import type { EventDescription, NewWebhook, Probe, WebhookSettings } from "@bikeshare/contract/console";
import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import { z } from "zod";
import { dateOf } from "../iso-instant.ts";
import { once } from "../once.ts";
import type { ProbedAddress } from "../webhooks/address-probe.ts";
import type { EndpointScope } from "../webhooks/endpoints/endpoint-context.ts";
import { type PreviewedSettings, previewEndpoint } from "../webhooks/endpoints/endpoint-preview.ts";
import { removeEndpoint } from "../webhooks/endpoints/endpoint-removal.ts";
import { rotateSecret, showSecret } from "../webhooks/endpoints/endpoint-secrets.ts";
import {
  addEndpoint,
  pauseEndpoint,
  resumeEndpoint,
  type SetEndpoint,
  setEndpoint,
  type SettingContext,
} from "../webhooks/endpoints/endpoint-settings.ts";
import {
  findShownEndpoint,
  findShownEndpoints,
  listShownEndpoints,
  logBytesByEndpoint,
  requireReadableEvents,
} from "../webhooks/endpoints/endpoint-view.ts";
import { dropHeld, sendHeld, showHeld } from "../webhooks/endpoints/held.ts";
import { showBody } from "../webhooks/log/delivery-view.ts";
import { adviceOn } from "../webhooks/log/failure-advice.rules.ts";
import { createReplay, redeliver, retryEndpointNow, sendTestDelivery, stopReplay } from "../webhooks/log/resend.ts";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { consoleCaller, type ConsoleRequest, consoleSession, partnerCaller, requireConfirmed } from "./authorize.ts";
import type { ConsoleContext, LongReads } from "./context.ts";
import { withoutCredentials } from "./delivery-json.ts";

/*
 * Routes of webhook endpoints, which the dashboard calls webhooks: `webhookRoutes` for a partner's own people,
 * `endpointRoutes` for the operator. Both share the changes of `webhookChanges`. `longReads.hold` runs reads that may take
 * long (`LongReads`).
 */

/** The person who makes a call, and what the call is about. */
interface WebhookCaller {
  readonly personId: string;
  /** The person, as the audit log names them. */
  readonly actor: string;
  /** The partner, and the webhook that the call names; without `endpointRef`: its only one, or one to be added. */
  readonly scope: EndpointScope;
  /** A webhook that the operator has paused can be resumed or removed by the operator only. */
  readonly by: "partner" | "operator";
}

/** Names one of several webhooks. */
interface OfWebhook {
  readonly endpoint_id?: string | undefined;
}

/** Routes of a partner's webhooks: addresses, events, secrets and status. */
export function webhookRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["webhook"] {
  return {
    ...webhookChanges(context, ownCaller),
    list: async (call) => {
      const data = await longReads.hold(call.request, () => findShownEndpoints(context, ownPartner(call).scope));
      return { status: 200, body: { data } };
    },
    show: async (call) => {
      const view = await longReads.hold(call.request, () => findShownEndpoint(context, ownCaller(call).scope));
      return { status: 200, body: { webhook: view ?? null } };
    },
    held: async (call) => {
      return { status: 200, body: await longReads.hold(call.request, () => showHeld(context, ownCaller(call).scope)) };
    },
    events: async () => ({ status: 200, body: { data: await describeEvents() } }),
    set: async (call) => {
      const session = consoleSession(call.request);
      // `setEndpoint` calls this before deliveries go to another origin or are signed with another secret. Otherwise
      // somebody at an unlocked computer could redirect all deliveries, or make receivers refuse them.
      const requireConfirmation = () => requireConfirmed(session, context.clock());
      await requireReadableEvents(context, ownCaller(call).scope, call.body.events ?? []);
      const made = await setWebhook({ ...context, requireConfirmation }, ownCaller(call), call.body);
      return { status: 200, body: settingsJson(made) };
    },
    add: async (call) => {
      const caller = ownPartner(call);
      await requireReadableEvents(context, { ...caller.scope, isNew: true }, call.body.events ?? []);
      const made = await addWebhook(context, caller, call.body);
      return { status: 200, body: settingsJson(made) };
    },
    showSecret: async (call) => {
      const { actor, scope } = ownCaller(call);
      return { status: 200, body: await showSecret({ ...context, actor, cipher: context.webhookCipher }, scope) };
    },
  };
}

/** A call of a partner's own page. */
interface OwnCall {
  readonly request: ConsoleRequest;
  readonly query: OfWebhook;
}

/** Returns the partner's webhook that a call names (without an id: its only one), and the person who changes it. */
function ownCaller({ request, query }: OwnCall): WebhookCaller {
  const { scope, ...who } = ownPartner({ request });
  return { ...who, scope: { ...scope, endpointRef: query.endpoint_id } };
}

/** Returns the partner of a call, without a webhook, and the person who makes the call. */
function ownPartner({ request }: Pick<OwnCall, "request">): WebhookCaller {
  const { person, actor, systemId, partnerId } = partnerCaller(request);
  return { personId: person.id, actor, scope: { systemId, partnerId }, by: "partner" };
}

/** A JSON schema of the OpenAPI document. */
type Schema = Readonly<Record<string, unknown>>;

/** Returns each event's fields and an example, for the pages. Reads them from the OpenAPI document for partners. */
const describeEvents: () => Promise<readonly EventDescription[]> = once(async () => {
  // Loaded when it is asked for: the generator is as large as the rest of the service.
  const { createOpenApiDocument } = await import("@bikeshare/contract/openapi");
  const document = createOpenApiDocument({ baseUrl: "", version: "" });
  return Object.entries(document.webhooks).map(([name, { post }]) => {
    const content = post?.requestBody?.content["application/json"];
    const properties = propertiesOf(document, content?.schema ?? {});
    return {
      name,
      description: post?.description ?? "",
      fields: Object.entries(propertiesOf(document, properties["data"] ?? {})).map(([field, schema]) => ({
        name: field,
        type: typeOf(document, schema),
        description: z.string().nullable().catch(null).parse(resolve(document, schema)["description"]),
      })),
      sample: JSON.stringify(content?.examples?.["delivery"]?.value),
    };
  });
});

const REFERENCE = "#/components/schemas/";

function resolve({ components }: OpenApiDocument, schema: Schema): Schema {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  return components.schemas[reference.slice(REFERENCE.length)] ?? {};
}

function propertiesOf(document: OpenApiDocument, schema: Schema): Readonly<Record<string, Schema>> {
  return (resolve(document, schema)["properties"] ?? {}) as Readonly<Record<string, Schema>>;
}

/** Returns the type of a field in words: `string`, `number or null`, `"active" or "offline"`. */
function typeOf(document: OpenApiDocument, schema: Schema): string {
  const { type, enum: values, anyOf, oneOf, const: only, format } = resolve(document, schema);
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" or ");
  const members = anyOf ?? oneOf;
  if (Array.isArray(members)) {
    const types = members.map((member: Schema) => typeOf(document, member));
    // An extensible enumeration is a union of names and `string`: the names suffice.
    const hasNames = types.some((text) => text.startsWith('"'));
    const shown = hasNames ? types.filter((text) => text !== "string") : types;
    return [...new Set(shown)].join(" or ");
  }
  const names: readonly unknown[] = Array.isArray(type) ? type : [type];
  const name = names.filter((each) => typeof each === "string").join(" or ");
  return typeof format === "string" ? name.replace("string", format) : name;
}

/** An event that a probe can send an example of. */
type ProbedEvent = Parameters<ConsoleContext["addressProber"]["probe"]>[1]["event"];

/** A call that `callerOf` understands, with its body. */
type WithBody<Call, Body> = Call & { readonly body: Body };

const HOUR_MS = 3_600_000;

/**
 * Routes that the pages of partners and of the operator share: they change the state or the secret of a webhook, or try it.
 * @param callerOf returns who makes a call
 */
function webhookChanges<Call>(context: ConsoleContext, callerOf: (call: Call) => WebhookCaller) {
  return {
    ...statusChanges(context, callerOf),
    preview: async (call: WithBody<Call, PreviewedSettings>) => {
      const { scope, by } = callerOf(call);
      // A partner gets no counts of events that it may not read. Without an id, the preview is of a webhook to be added.
      const chosenFor = scope.endpointRef === undefined ? { ...scope, isNew: true as const } : scope;
      if (by === "partner") await requireReadableEvents(context, chosenFor, call.body.events);
      return { status: 200 as const, body: await previewEndpoint(context, scope, call.body) };
    },
    probe: async (call: WithBody<Call, { readonly url: string; readonly event?: ProbedEvent | undefined }>) => {
      const { personId, actor, scope } = callerOf(call);
      const { url, event = "ride.completed" } = call.body;
      const probing = { ...context, actor, cipher: context.webhookCipher };
      const probed = await context.addressProber.probe(probing, { ...scope, personId, url, event });
      return { status: 200 as const, body: probeJson(probed) };
    },
    test: async (call: WithBody<Call, { readonly event?: string | undefined }>) => {
      const { personId, actor, scope } = callerOf(call);
      // Counts against the same limit as a probe: both call an address whenever the person asks for it.
      context.addressProber.count(personId);
      const id = await sendTestDelivery({ ...context, actor }, { ...scope, event: call.body.event });
      return { status: 200 as const, body: { delivery_id: id } };
    },
    rotateSecret: async (call: WithBody<Call, { readonly overlap_hours: number }>) => {
      const { actor, scope } = callerOf(call);
      const input = { ...scope, overlap: call.body.overlap_hours * HOUR_MS };
      const body = await rotateSecret({ ...context, actor, cipher: context.webhookCipher }, input);
      return { status: 200 as const, body };
    },
  };
}

/**
 * Routes that pause, resume, retry or remove a webhook, and that send or drop its held deliveries: those that wait
 * because it is paused.
 */
function statusChanges<Call>(context: ConsoleContext, callerOf: (call: Call) => WebhookCaller) {
  return {
    pause: async (call: Call) => {
      const { actor, scope, by } = callerOf(call);
      // `takesOver`: if the partner has paused the webhook before, only the operator can resume it from now on.
      const input = { ...scope, reason: by, takesOver: by === "operator" };
      return { status: 200 as const, body: await pauseEndpoint({ ...context, actor }, input) };
    },
    resume: async (call: WithBody<Call, { readonly sends_held?: boolean | undefined }>) => {
      const { actor, scope, by } = callerOf(call);
      const sendsHeld = call.body.sends_held === true;
      const body = await resumeEndpoint({ ...context, actor }, { ...scope, by, sendsHeld });
      return { status: 200 as const, body };
    },
    sendHeld: async (call: Call) => {
      const { actor, scope } = callerOf(call);
      return { status: 200 as const, body: { sent: await sendHeld({ ...context, actor }, scope) } };
    },
    dropHeld: async (
      call: WithBody<
        Call,
        { readonly total: number; readonly until: string; readonly is_continued?: boolean | undefined }
      >,
    ) => {
      const { actor, scope } = callerOf(call);
      // `total`, `until`: the count that the person has seen and its time, so that no other deliveries are dropped. A page
      // drops many deliveries in several calls: those after the first are continued, and count nothing again.
      const { total, until, is_continued: isContinued = false } = call.body;
      const body = await dropHeld({ ...context, actor }, scope, { total, until: new Date(until), isContinued });
      return { status: 200 as const, body };
    },
    retryNow: async (call: Call) => {
      const { actor, scope } = callerOf(call);
      return { status: 200 as const, body: { deliveries: await retryEndpointNow({ ...context, actor }, scope) } };
    },
    remove: async (call: Call) => {
      const { actor, scope, by } = callerOf(call);
      return { status: 200 as const, body: await removeEndpoint({ ...context, actor }, { ...scope, by }) };
    },
  };
}

/** Adds a webhook. */
function addWebhook(context: ConsoleContext, { actor, scope }: WebhookCaller, given: NewWebhook): Promise<SetEndpoint> {
  const setting = { ...context, actor, cipher: context.webhookCipher, rules: context.webhookRules };
  return addEndpoint(setting, { ...scope, ...given });
}

/** Sets a webhook's address, events and other given settings. */
function setWebhook(
  context: ConsoleContext & Pick<SettingContext, "requireConfirmation">,
  { actor, scope }: WebhookCaller,
  settings: WebhookSettings,
): Promise<SetEndpoint> {
  const setting = { ...context, actor, cipher: context.webhookCipher, rules: context.webhookRules };
  return setEndpoint(setting, { ...scope, ...settings });
}

/** Returns what saving an endpoint's settings did, as pages get it: whether a secret was made, but not the secret. */
function settingsJson({ secret, endpoint, outcome, old_secrets_end_at }: SetEndpoint) {
  return { id: endpoint.id, outcome, old_secrets_end_at, has_new_secret: secret !== null };
}

function probeJson({ isAllowed, steps, isSignedWithSecret, body, result }: ProbedAddress): Served<Probe> {
  const { outcome, status, failure, sentHeaders, answerHeaders, answerBody, answerCut } = result;
  const request = {
    headers: withoutCredentials(sentHeaders),
    body: { encoding: "utf-8" as const, text: body, truncated: false },
  };
  return {
    is_allowed: isAllowed,
    is_accepted: outcome === "succeeded",
    steps,
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

type Routes = ConsoleRoutes["endpoints"];

/** A call of the operator's pages about a partner's endpoint. */
interface EndpointCall {
  readonly params: { readonly partner_id: string };
  readonly query: OfWebhook;
  readonly request: ConsoleRequest;
}

/** Routes of every partner's endpoints, for the operator. */
export function endpointRoutes(context: ConsoleContext, longReads: LongReads): Routes {
  return {
    ...webhookChanges(context, operatorCaller),
    ...sendingAgain(context),
    list: async ({ request }) => {
      const { systemId } = consoleCaller(request);
      const [{ endpoints, workers }, logBytes] = await longReads.hold(request, () =>
        Promise.all([listShownEndpoints(context, systemId), logBytesByEndpoint(context, systemId)]),
      );
      const data = endpoints.map((endpoint) => ({ ...endpoint, log_bytes: logBytes.get(endpoint.id) ?? 0 }));
      return { status: 200, body: { data, workers } };
    },
    add: async ({ body, ...call }) => {
      // A new endpoint has no id yet.
      const made = await addWebhook(context, operatorCaller({ ...call, query: {} }), body);
      return { status: 200, body: { ...settingsJson(made), secret: made.secret } };
    },
    set: async (call) => {
      const made = await setWebhook(context, operatorCaller(call), call.body);
      return { status: 200, body: { ...settingsJson(made), secret: made.secret } };
    },
  };
}

/** Routes that send one delivery, or a range of deliveries, again. */
function sendingAgain(context: ConsoleContext): Pick<Routes, "resend" | "replay" | "stopReplay"> {
  return {
    resend: async (call) => {
      // The delivery's id suffices to find it, whatever its endpoint.
      const { actor, scope } = operatorCaller({ ...call, query: {} });
      return { status: 200, body: await redeliver({ ...context, actor }, scope, call.params.delivery_id) };
    },
    replay: async (call) => {
      const { actor, scope } = operatorCaller(call);
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

/** Returns the endpoint that a call names, and the operator's person who changes it. */
function operatorCaller({ request, params, query }: EndpointCall): WebhookCaller {
  const { person, systemId, actor } = consoleCaller(request);
  const scope = { systemId, partnerId: params.partner_id, endpointRef: query.endpoint_id };
  return { personId: person.id, actor, scope, by: "operator" };
}
