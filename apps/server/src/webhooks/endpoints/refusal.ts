/** Why a verb on webhooks was refused. */
export type WebhookRefusalReason =
  /** There is no such partner, endpoint or delivery, or it is another partner's. */
  | "not_found"
  /** The address is not one that we call. */
  | "url"
  /** Any other input. */
  | "invalid"
  /** The endpoint is paused. */
  | "paused"
  /** No process is there that sends. */
  | "not_sending"
  /** What the delivery said is no longer kept. */
  | "dropped"
  /** The deployment's secrets were sealed with keys of another secrets file. */
  | "secrets_file";

/** A verb on webhooks could not be done; the message is for the person who asked. Nothing was changed. */
export class WebhookRefusal extends Error {
  override readonly name = "WebhookRefusal";
  readonly reason: WebhookRefusalReason;

  constructor(reason: WebhookRefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
