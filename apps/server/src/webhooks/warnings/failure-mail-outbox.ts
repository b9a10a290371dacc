import { startPeriodic } from "../../background/periodic.ts";
import type { Database } from "../../db/database.ts";
import type { MailOutcome } from "../../metrics/webhook-metrics.ts";
import {
  type ClaimedMail,
  claimMail,
  deleteExpiredMails,
  deleteMail,
  type RetryDelays,
} from "./failure-mail-queries.ts";
import { MAIL_TIMEOUT_MS, type Mailer, PermanentMailError } from "./mailer.ts";

/** Sends the recorded mails. Any number of processes may have one: each mail is sent by one process at a time. */
export interface MailOutbox {
  /** Sends what is due now, after the current pass. Never rejects. */
  runOnce(): Promise<void>;
  /** Begins no more; the current try has a few seconds to end, and is made again later if it does not. */
  close(): Promise<void>;
}

export interface MailOutboxOptions {
  readonly db: Database;
  readonly clock: () => number;
  /** The systems there are. */
  readonly systems: () => Promise<readonly string[]>;
  /** Undefined: mails of an earlier configuration wait until they are given up. */
  readonly mailer: Mailer | undefined;
  readonly logger: { warn(detail: object, message: string): void };
  /** A pass, or a part of one, failed; the next one tries again. */
  readonly onError: (error: unknown) => void;
  /** Called with what became of each try and each mail. */
  readonly observe: (outcome: MailOutcome) => void;
}

/** Milliseconds between two passes: the delay of a mail. Shorter finds nothing most of the time. */
const POLL_INTERVAL_MS = 5_000;
/**
 * Milliseconds between tries. The first wait is longer than a try may take: with less, two processes would send the same
 * mail. A longer last wait lets the mail come late after the server is back; a shorter one asks a busy server too often.
 */
const RETRY_DELAYS_MS: RetryDelays = { first: MAIL_TIMEOUT_MS + 15_000, most: 3_600_000 };
/** Milliseconds after which a mail is given up. Later, what it says helps nobody any more. */
const MAIL_LIFETIME_MS = 24 * 3_600_000;
/** Milliseconds that the try under way has when the process stops. More, and the whole stop takes too long. */
const CLOSE_TIMEOUT_MS = 5_000;

/** Starts sending. */
export function startMailOutbox(options: MailOutboxOptions): MailOutbox {
  const { systems, onError } = options;
  const stop = new AbortController();
  let closed = false;

  /** A failure in one system does not delay the others' mails. */
  async function sendAll(): Promise<void> {
    for (const systemId of await systems()) {
      await giveUpExpired(options, systemId).catch(onError);
      while (!closed && (await sendNext(options, systemId, stop.signal).catch(onError)) === true);
    }
  }
  const sending = startPeriodic({ intervalMs: POLL_INTERVAL_MS, work: sendAll, onError, immediately: true });
  return {
    runOnce: () => sending.runOnce().catch(onError),
    async close() {
      closed = true;
      const late = setTimeout(() => stop.abort(), CLOSE_TIMEOUT_MS);
      await sending.close();
      clearTimeout(late);
    },
  };
}

async function giveUpExpired(
  { db, clock, mailer, logger, observe }: MailOutboxOptions,
  systemId: string,
): Promise<void> {
  const now = clock();
  const expired = await deleteExpiredMails(db, systemId, {
    recordedBefore: new Date(now - MAIL_LIFETIME_MS),
    // Where no process ran for a day, each mail still has its try.
    leastAttempts: mailer === undefined ? 0 : 1,
    now: new Date(now),
  });
  for (const { id, endpoint_id: endpoint, attempts, body } of expired) {
    observe("expired");
    logger.warn(
      { mailId: id, endpoint, attempts, mail: body },
      "a mail to a partner was not sent within a day; given up",
    );
  }
}

/** @returns whether there was one to send */
async function sendNext(options: MailOutboxOptions, systemId: string, signal: AbortSignal): Promise<boolean> {
  const { db, clock, mailer, logger, observe } = options;
  if (mailer === undefined) return false;
  const mail = await claimMail(db, systemId, new Date(clock()), RETRY_DELAYS_MS);
  if (mail === undefined) return false;
  const finish = async (outcome: MailOutcome): Promise<true> => {
    // Counted first: whether the row can be removed or not, this is what became of the try.
    observe(outcome);
    await deleteMail(db, systemId, mail.id);
    return true;
  };
  const detail = { mailId: mail.id, partner: mail.partner_id, attempts: mail.attempts };
  if (mail.email === null) {
    logger.warn({ ...detail, mail: mail.body }, "a mail to a partner has no address any more; given up");
    return finish("unaddressed");
  }
  try {
    await mailer.send(messageOf(mail, mail.email), signal);
  } catch (error) {
    if (error instanceof PermanentMailError) {
      logger.warn({ err: error, ...detail, mail: mail.body }, "a mail to a partner was refused; given up");
      return finish("refused");
    }
    observe("postponed");
    logger.warn({ err: error, ...detail }, "a mail to a partner could not be sent; tried again later");
    return true;
  }
  return finish("sent");
}

function messageOf({ id, subject, body }: ClaimedMail, to: string) {
  return { id, to, subject, text: body };
}
