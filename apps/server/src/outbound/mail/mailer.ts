import { domainToASCII } from "node:url";

/** A mail in plain text. */
export interface Mail {
  /** Letters, digits and `_`. The same whenever the mail is sent again, so that a repeat can be recognised. */
  readonly id: string;
  /** One address, without a name. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends mail. */
export interface Mailer {
  /**
   * Hands a mail to the SMTP server.
   * @param signal aborts the try
   * @throws PermanentMailError when no later try can succeed
   * @throws Error when the server did not accept the mail in time, or could not be trusted. The server may have accepted the
   * mail all the same, so another try may send it twice.
   */
  send(mail: Mail, signal?: AbortSignal): Promise<void>;
}

/** The recipient is not a valid address, or the server has rejected the recipient or the mail permanently. */
export class PermanentMailError extends Error {
  override readonly name = "PermanentMailError";
}

export interface MailerOptions {
  /** The sender: an address, with an optional name before it (`Bikes <noreply@bikes.example>`). */
  readonly from: string;
  /** Time limit in milliseconds for sending one mail, from the connection to the server's last reply. */
  readonly timeout?: number;
  /** The authority (PEM) that vouches for the server, instead of those that Node trusts. */
  readonly ca?: string;
}

/**
 * Milliseconds for sending a mail. Too low: fails servers that delay their greeting on purpose, by up to 30 s. Too
 * high: keeps the connection of a dead server, and delays the second try.
 */
export const MAIL_TIMEOUT_MS = 45_000;

/** Exactly one address: no second one behind a comma, no header behind a line break. */
const ADDRESS = /^[^\s\p{Cc}@,;:<>()[\]"\\]{1,64}@[^\s\p{Cc}@,;:<>()[\]"\\]{1,189}$/u;

/** Keeps automatic replies, such as out-of-office notices, from being sent to us (RFC 3834). */
const HEADERS = { "Auto-Submitted": "auto-generated" };

/**
 * Returns a mailer for an SMTP server; undefined without `smtpUrl`.
 * @param smtpUrl `smtp://user:password@host:587` or `smtps://…:465`. TLS is used with `smtps`, with a password (but not if
 * the URL ends with `?requireTLS=false`), and otherwise if the server offers it. The server's certificate is always checked
 * when TLS is used.
 */
export function createMailer(smtpUrl: string | undefined, options: MailerOptions): Mailer | undefined {
  if (smtpUrl === undefined) return undefined;
  const { from, timeout = MAIL_TIMEOUT_MS, ca } = options;
  // For the ids of messages. A sender without a valid domain gives "".
  const domain = domainToASCII(from.slice(from.lastIndexOf("@") + 1).replace(/>$/, "")) || "localhost";
  const open = async () => {
    // Loads nodemailer only for the first mail, because most processes send none.
    const { createTransport } = await import("nodemailer");
    return createTransport({
      url: smtpUrl,
      requireTLS: URL.parse(smtpUrl)?.password !== "",
      // Applies even when the environment disables verification.
      tls: { rejectUnauthorized: true, ...(ca !== undefined && { ca }) },
      connectionTimeout: timeout,
      greetingTimeout: timeout,
      socketTimeout: timeout,
      socketCloseTimeout: 1_000,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  };
  let transport: ReturnType<typeof open> | undefined;
  return {
    async send({ id, to, subject, text }, given) {
      if (!ADDRESS.test(to)) {
        throw new PermanentMailError(`${JSON.stringify(to)} is not one mail address, such as ops@example.com.`);
      }
      const line = subject.replaceAll(/[\p{Cc}\s]+/gu, " ");
      const messageId = `<${id}@${domain}>`;
      // Limits the whole try. Each of nodemailer's timeouts counts on its own, and a server that sends a few bytes now and
      // then exceeds none of them.
      const late = AbortSignal.timeout(timeout);
      const signal = given === undefined ? late : AbortSignal.any([late, given]);
      try {
        const opened = await (transport ??= open());
        await opened.sendMail({ from, to, subject: line, text, messageId, headers: HEADERS, signal });
      } catch (error) {
        throw isFinal(error) ? new PermanentMailError(error.message, { cause: error }) : error;
      }
    },
  };
}

/**
 * Tells whether the server has rejected this recipient or this mail permanently (5xx, RFC 5321). Errors about the sender or
 * the password are not permanent: the mail is sent when the operator has fixed them.
 */
function isFinal(error: unknown): error is Error {
  if (!(error instanceof Error && "command" in error && "responseCode" in error)) return false;
  const { command, responseCode } = error;
  const isOfMail = command === "RCPT TO" || command === "DATA";
  return isOfMail && typeof responseCode === "number" && responseCode >= 500 && responseCode <= 599;
}
