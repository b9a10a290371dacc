import { type api, queries } from "../../api/api.ts";

/** The partner of a webhook, as parameters of endpoints. */
export interface PartnerParams {
  readonly system_id: string;
  readonly partner_id: string;
}

/** Which webhook calls are about. */
export interface WebhookTarget {
  readonly params: PartnerParams;
  readonly query: { readonly endpoint_id?: string };
}

type Own = typeof api.webhook;
type Operators = typeof api.endpoints;

/** Saves settings; the operator's calls answer with a new secret, too. */
type Saves<Name extends "set" | "add"> = (
  ...request: Parameters<Own[Name]>
) => Promise<Awaited<ReturnType<Own[Name]>> & { readonly secret?: string | null }>;

/** The calls that change a webhook: through the endpoints for the partner's admins, or through the operator's. */
export interface WebhookClient
  extends
    Pick<
      Own,
      | "pause"
      | "resume"
      | "sendHeld"
      | "dropHeld"
      | "retryNow"
      | "remove"
      | "preview"
      | "probe"
      | "test"
      | "rotateSecret"
    >,
    // A partner's admins see their secret again; the operator sees one when it is made.
    Partial<Pick<Own, "showSecret">>,
    // A partner's admins select deliveries to resend in the list of deliveries.
    Partial<Pick<Operators, "replay" | "stopReplay">> {
  readonly set: Saves<"set">;
  readonly add: Saves<"add">;
}

/** Reloads the shown webhooks. */
export async function refreshWebhooks(): Promise<void> {
  await Promise.all(["webhook", "endpoints"].map((name) => queries.invalidateQueries({ queryKey: [name] })));
}
