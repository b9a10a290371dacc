import { createMailer, type Mailer, PermanentMailError } from "./mailer.ts";

/**
 * The recipient under which messages to the chat room are queued. The room's URL is a secret, so the database does not
 * store it.
 */
export const CHAT_ROOM = "chat room";

/** Time limit of one message, in milliseconds. Too low: slow rooms fail. Too high: delays the messages behind it. */
const TIMEOUT_MS = 15_000;

/** Maximum characters of a message. Slack cuts at 40,000, Teams refuses 28 kB. */
const MAX_LENGTH = 8_000;

/**
 * Returns a mailer for notices to the operator: it posts messages for `CHAT_ROOM` to the room and mails all others.
 * Undefined when neither a mail server nor a room is configured.
 * @param roomUrl an incoming webhook of Slack or Teams, or of a server that accepts Slack's format (Mattermost,
 * Rocket.Chat)
 */
export function createOperatorMailer(
  mail: { readonly smtpUrl: string; readonly from: string } | undefined,
  roomUrl: string | undefined,
): Mailer | undefined {
  const mailer = mail && createMailer(mail.smtpUrl, { from: mail.from });
  if (roomUrl === undefined) return mailer;
  return {
    async send(message, signal) {
      if (message.to === CHAT_ROOM) return post(roomUrl, `${message.subject}\n\n${message.text}`, signal);
      // This process has no mail server. Another process, which has one, queued this mail.
      if (mailer === undefined) throw new Error("this process has no SMTP_URL");
      return mailer.send(message, signal);
    },
  };
}

/** @throws PermanentMailError when no later try can succeed */
async function post(roomUrl: string, text: string, given: AbortSignal | undefined): Promise<void> {
  const late = AbortSignal.timeout(TIMEOUT_MS);
  let status: number;
  try {
    const response = await fetch(roomUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(messageFor(new URL(roomUrl), text.slice(0, MAX_LENGTH).toWellFormed())),
      // The URL is a secret: a redirect must not send the message elsewhere.
      redirect: "manual",
      signal: given === undefined ? late : AbortSignal.any([late, given]),
    });
    status = response.status;
    await response.body?.cancel();
  } catch (error) {
    // The reason is in the `cause` of Node's error, not in its message.
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : "no answer in time";
    throw new Error(`the chat room could not be reached: ${reason}`, { cause: error });
  }
  if (status >= 200 && status < 300) return;
  const message = `the chat room answered ${status}`;
  const isBusy = status === 408 || status === 429 || status >= 500;
  throw isBusy ? new Error(message) : new PermanentMailError(`${message}: check ALERT_WEBHOOK_URL`);
}

/** Hosts of Teams' workflows, which take cards. All other hosts get Slack's format. */
const TEAMS = /(^|\.)(logic\.azure\.com|powerplatform\.com|powerautomate\.com|webhook\.office\.com)$/;

/** A zero-width space. Behind an `@` it prevents a mention. Between `]` and `(` it prevents a link. */
const WITHOUT_MEANING = "\u200B";

/** Returns the JSON of a message, in the form that the room's server takes. */
function messageFor({ hostname }: URL, given: string): object {
  // Names of partners, endpoints and feeds could otherwise mention people, or be links.
  const text = given.replaceAll(/@|\](?=\()/g, (sign) => sign + WITHOUT_MEANING);
  if (!TEAMS.test(hostname))
    return { text: text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;") };
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [{ type: "TextBlock", text, wrap: true }],
  };
  return { type: "message", attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", content }] };
}
