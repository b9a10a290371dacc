import { createTransport } from "nodemailer";

/** A mail in plain text. */
export interface Mail {
  /** One address, without a name. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends mail. */
export interface Mailer {
  /**
   * Hands a mail to the SMTP server.
   * @throws Error when the address is none, or the server did not take the mail in time. It may have taken it all the same:
   * sending again may send it twice.
   */
  send(mail: Mail): Promise<void>;
}

export interface MailerOptions {
  /** The sender: an address, with a name before it where wished (`Bikes <noreply@bikes.example>`). */
  readonly from: string;
  /** Milliseconds for one mail, everything included. */
  readonly timeout?: number;
}

/** Milliseconds. Servers that greet late on purpose take up to 30 s; longer only keeps a dead one's connection. */
const TIMEOUT = 45_000;

/** Exactly one address: no second one behind a comma, no header behind a line break. */
const ADDRESS = /^[^\s\p{Cc}@,;:<>()[\]"\\]{1,64}@[^\s\p{Cc}@,;:<>()[\]"\\]{1,189}$/u;

/**
 * A mailer for an SMTP server; undefined where there is none.
 * @param smtpUrl `smtp://user:password@host:587` or `smtps://…:465`. A password goes over TLS only, unless the URL ends with
 * `?requireTLS=false`
 */
export function createMailer(smtpUrl: string | undefined, options: MailerOptions): Mailer | undefined {
  if (smtpUrl === undefined) return undefined;
  const { from, timeout = TIMEOUT } = options;
  const transport = createTransport({
    url: smtpUrl,
    requireTLS: URL.parse(smtpUrl)?.password !== "",
    connectionTimeout: timeout,
    greetingTimeout: timeout,
    socketTimeout: timeout,
    socketCloseTimeout: 1_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text }) {
      if (!ADDRESS.test(to)) throw new Error(`${JSON.stringify(to)} is not one mail address, such as ops@example.com.`);
      const line = subject.replaceAll(/[\p{Cc}\s]+/gu, " ");
      // Each of the time-outs counts on its own, and a server that says a little now and then escapes them all.
      await transport.sendMail({ from, to, subject: line, text, signal: AbortSignal.timeout(timeout) });
    },
  };
}
