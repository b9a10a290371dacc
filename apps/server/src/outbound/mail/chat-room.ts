import { createMailer, type Mailer, PermanentMailError } from "./mailer.ts";

/** Stands for the chat room in a queue of mails: its URL is a secret, which the database does not keep. */
export const CHAT_ROOM = "chat room";

/** Milliseconds for one message. Too low: fails rooms that are slow. Too high: delays the messages behind it. */
const TIMEOUT_MS = 15_000;

/** Characters of a message. Slack cuts at 40,000, Teams refuses 28 kB. */
const MAX_LENGTH = 8_000;

/**
 * Returns what sends notices to the operator: mails by the mail server, and those to `CHAT_ROOM` as messages. Undefined:
 * there is neither.
 * @param roomUrl an incoming webhook of Slack, Teams, or of a server that takes Slack's (Mattermost, Rocket.Chat)
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
      // Another process has recorded it, which has a mail server.
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
      // The secret is in the URL: nobody else may name another one.
      redirect: "manual",
      signal: given === undefined ? late : AbortSignal.any([late, given]),
    });
    status = response.status;
    await response.body?.cancel();
  } catch (error) {
    // Node says why in the cause alone.
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : "no answer in time";
    throw new Error(`the chat room could not be reached: ${reason}`, { cause: error });
  }
  if (status >= 200 && status < 300) return;
  const message = `the chat room answered ${status}`;
  const isBusy = status === 408 || status === 429 || status >= 500;
  throw isBusy ? new Error(message) : new PermanentMailError(`${message}: check ALERT_WEBHOOK_URL`);
}

/** Hosts of Teams' workflows, which take cards; everybody else takes Slack's text. */
const TEAMS = /(^|\.)(logic\.azure\.com|powerplatform\.com|powerautomate\.com|webhook\.office\.com)$/;

function messageFor({ hostname }: URL, text: string): object {
  // Names of partners and feeds are in it: nobody is to be called by one.
  if (!TEAMS.test(hostname))
    return { text: text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;") };
  const content = {
    ...{ $schema: "http://adaptivecards.io/schemas/adaptive-card.json", type: "AdaptiveCard", version: "1.4" },
    body: [{ type: "TextBlock", text, wrap: true }],
  };
  return { type: "message", attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", content }] };
}
