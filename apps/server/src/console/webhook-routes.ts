import type { EventDescription } from "@bikeshare/contract/console";
import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import { z } from "zod";
import { showSecret } from "../webhooks/endpoints/endpoint-secrets.ts";
import { findShownEndpoint } from "../webhooks/endpoints/endpoint-view.ts";
import { showHeld } from "../webhooks/endpoints/held.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { type ConsoleRequest, consoleSession, partnerCaller, requireConfirmed } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import type { LongReads } from "./long-reads.ts";
import { settingsJson, setWebhook, type WebhookCaller, webhookChanges } from "./webhook-changes.ts";

/** A partner's webhook: its address, events and secret, and how it does. */
export function webhookRoutes(context: ConsoleContext, long: LongReads): ConsoleRoutes["webhook"] {
  return {
    ...webhookChanges(context, callerOf),
    show: async (call) => {
      const view = await long.hold(call.request, () => findShownEndpoint(context, callerOf(call).scope));
      return { status: 200, body: { webhook: view ?? null } };
    },
    held: async (call) => {
      return { status: 200, body: await long.hold(call.request, () => showHeld(context, callerOf(call).scope)) };
    },
    events: async () => ({ status: 200, body: { data: await describeEvents() } }),
    set: async (call) => {
      const session = consoleSession(call.request);
      // Otherwise somebody at an unlocked computer could redirect all deliveries, or change the secret so that receivers
      // refuse them.
      const requireConfirmation = () => requireConfirmed(session, context.clock());
      const made = await setWebhook({ ...context, requireConfirmation }, callerOf(call), call.body);
      return { status: 200, body: settingsJson(made) };
    },
    showSecret: async (call) => {
      const { actor, scope } = callerOf(call);
      return { status: 200, body: await showSecret({ ...context, actor, cipher: context.webhookCipher }, scope) };
    },
  };
}

/** Returns the webhook's partner, and the person who changes it. */
function callerOf({ request }: { readonly request: ConsoleRequest }): WebhookCaller {
  const { person, actor, systemId, partnerId } = partnerCaller(request);
  return { personId: person.id, actor, scope: { systemId, partnerId }, by: "partner" };
}

type Schema = Readonly<Record<string, unknown>>;

/** Returns the payload of each event for the pages: read from the partners' document, which the contract generates. */
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

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => (made ??= make());
}

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
    const known = types.filter((text) => text !== "string" || !types.some((other) => other.startsWith('"')));
    return [...new Set(known)].join(" or ");
  }
  const names: readonly unknown[] = Array.isArray(type) ? type : [type];
  const name = names.filter((each) => typeof each === "string").join(" or ");
  return typeof format === "string" ? name.replace("string", format) : name;
}
