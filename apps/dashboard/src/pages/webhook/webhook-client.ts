import { type api, queries } from "../../api/api.ts";

/** The system and partner of a webhook, as path parameters. */
export interface PartnerParams {
  readonly system_id: string;
  readonly partner_id: string;
}

/**
 * The webhook that a call is about, as path and query parameters. Without an id, a call that changes settings makes a webhook,
 * and one that reads deliveries reads those of all webhooks.
 */
export interface WebhookTarget {
  readonly params: PartnerParams;
  readonly query: { readonly endpoint_id?: string };
}

/** The console's calls about webhooks, for the partner's people. */
type Own = typeof api.webhook;
/** The same calls, for the operator. */
type Operators = typeof api.endpoints;

/** A call that saves settings. The operator's calls return a new secret, too. */
type Saves<Name extends "set" | "add"> = (
  ...request: Parameters<Own[Name]>
) => Promise<Awaited<ReturnType<Own[Name]>> & { readonly secret?: string | null }>;

/**
 * The calls that change a webhook. One client makes those of the partner's admins, another those of the operator.
 */
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
    // Only the partner's admins can show the secret again. The operator sees it only when it is made.
    Partial<Pick<Own, "showSecret">>,
    // Only the operator replays a period, or stops a replay. A partner's admins resend from the list of deliveries instead.
    Partial<Pick<Operators, "replay" | "stopReplay">> {
  readonly set: Saves<"set">;
  readonly add: Saves<"add">;
}

/** Reloads the shown webhooks: those of a partner (`webhook`), and the operator's list of all (`endpoints`). */
export async function refreshWebhooks(): Promise<void> {
  await Promise.all(["webhook", "endpoints"].map((name) => queries.invalidateQueries({ queryKey: [name] })));
}
