import { type api, queries } from "../../api/api.ts";

/** The partner of a webhook, as parameters of endpoints. */
export interface PartnerParams {
  readonly system_id: string;
  readonly partner_id: string;
}

type Own = typeof api.webhook;
type Operators = typeof api.endpoints;

/** The calls that change a webhook: through the endpoints for the partner's admins, or through the operator's. */
export interface WebhookClient
  extends
    Pick<Own, "pause" | "resume" | "sendHeld" | "dropHeld" | "retryNow" | "remove" | "probe" | "test" | "rotateSecret">,
    // A partner's admins see their secret again; the operator sees one when it is made.
    Partial<Pick<Own, "showSecret">>,
    // A partner's admins select deliveries to resend in the list of deliveries.
    Partial<Pick<Operators, "replay" | "stopReplay">> {
  readonly set: (
    ...request: Parameters<Own["set"]>
  ) => Promise<Awaited<ReturnType<Own["set"]>> & { readonly secret?: string | null }>;
}

/** Reloads the shown webhooks. */
export async function refreshWebhooks(): Promise<void> {
  await Promise.all(["webhook", "endpoints"].map((name) => queries.invalidateQueries({ queryKey: [name] })));
}
