import { type api, queries } from "../../api/api.ts";

/** The system and partner of a webhook, as path parameters. */
export interface PartnerParams {
  readonly system_id: string;
  readonly partner_id: string;
}

/**
 * The webhook that a call is about, as path and query parameters. Without an id it is the partner's only webhook; the service
 * rejects a call that changes something if there are several.
 */
export interface WebhookTarget {
  readonly params: PartnerParams;
  readonly query: { readonly endpoint_id?: string };
}

/** The console's calls about webhooks, for the partner's people. */
type Own = typeof api.webhook;
/** The same calls, for the operator. */
type Operators = typeof api.endpoints;

/**
 * A call that saves settings. For the operator, its result also has the secret, if one was made (otherwise null). A partner's
 * admins get no `secret`: they read it with `showSecret`.
 */
type Saves<Name extends "set" | "add"> = (
  ...request: Parameters<Own[Name]>
) => Promise<Awaited<ReturnType<Own[Name]>> & { readonly secret?: string | null }>;

/**
 * The calls of a webhook's page: changes, and the trials `preview`, `probe` and `test`. `api.webhook` is the client of the
 * partner's admins, `api.endpoints` that of the operator.
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
  /** Changes a webhook, or makes the partner's first one. */
  readonly set: Saves<"set">;
  /** Makes a further webhook. */
  readonly add: Saves<"add">;
}

/** Reloads the shown webhooks: those of a partner (`webhook`), and the operator's list of all (`endpoints`). */
export async function refreshWebhooks(): Promise<void> {
  await Promise.all(["webhook", "endpoints"].map((name) => queries.invalidateQueries({ queryKey: [name] })));
}
