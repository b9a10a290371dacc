import { type PeriodicWork, startPeriodic } from "../../storage/background/periodic.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { forgetUnit, runGuarded } from "../../storage/set-aside/units.ts";
import { MAIL_TIMEOUT_MS, type Mailer, PermanentMailError } from "./mailer.ts";

/**
 * What became of a try to send a mail, or of the mail.
 *
 * - `sent`: the server took it.
 * - `postponed`: it could not be sent now, and is tried again.
 * - `refused`: the server will never take it. Given up.
 * - `expired`: it could not be sent for a day. Given up.
 * - `unaddressed`: nobody is named any more to get it. Given up.
 */
export type MailOutcome = "sent" | "postponed" | "refused" | "expired" | "unaddressed";

/** A mail that waits. */
interface QueuedMail {
  readonly id: string;
  /** Null: there is no address any more. */
  readonly to: string | null;
  readonly subject: string;
  readonly body: string;
  /** Tries, this one included. */
  readonly attempts: number;
  /** Added to log lines: whose mail it is. */
  readonly detail: object;
}

/** Milliseconds from the beginning of a try to the next: twice as long each time, up to `most`. */
export interface RetryDelays {
  readonly first: number;
  readonly most: number;
}

/** The conditions for giving up mails: their age, their number of tries, and that they are not being sent now. */
export interface Expiry {
  readonly recordedBefore: Date;
  readonly leastAttempts: number;
  readonly now: Date;
}

/** Mails in a table. */
export interface MailQueue {
  /** The system whose list of set-aside work contains a mail that ends processes. */
  readonly systemId: string;
  /** Claims the mail that has been due for longest, and postpones its next try; undefined: none is due. */
  claim(now: Date, delays: RetryDelays): Promise<QueuedMail | undefined>;
  delete(id: string): Promise<void>;
  deleteExpired(expiry: Expiry): Promise<readonly Pick<QueuedMail, "id" | "attempts" | "body" | "detail">[]>;
}

/** Sends the recorded mails. Any number of processes may have one: each mail is sent by one process at a time. */
export interface MailOutbox {
  /** Sends due mails now, after the current pass. Never rejects. */
  runOnce(): Promise<void>;
  /** Begins no more; the current try has a few seconds to end, and is made again later if it does not. */
  close(): Promise<void>;
}

export interface OutboxOptions {
  readonly db: Queryable;
  readonly clock: () => number;
  readonly queues: () => Promise<readonly MailQueue[]>;
  /** The recipients of these mails, in log lines: `a partner`. */
  readonly addressee: string;
  /** Undefined: mails of an earlier configuration wait until they are given up. */
  readonly mailer: Mailer | undefined;
  readonly logger: { warn(detail: object, message: string): void };
  /** A pass, or a part of one, failed; the next one tries again. */
  readonly onError: (error: unknown) => void;
  /** Called with the outcome of each try and each mail. */
  readonly observe: (outcome: MailOutcome) => void;
  /** Learns how the passes go. */
  readonly watch?: WorkWatch | undefined;
}

/** Milliseconds between two passes: the delay of a mail. Too low: most passes find nothing. */
const POLL_INTERVAL_MS = 5_000;
/**
 * Milliseconds between tries. The first wait is longer than a try may take: with less, two processes would send the same
 * mail. A longer last wait lets the mail come late after the server is back; a shorter one asks a busy server too often.
 */
const RETRY_DELAYS_MS: RetryDelays = { first: MAIL_TIMEOUT_MS + 15_000, most: 3_600_000 };
/** Milliseconds after which a mail is given up, because its content is outdated. */
const MAIL_LIFETIME_MS = 24 * 3_600_000;
/** A mail that ends three processes in a row is set aside: see storage/set-aside/units.ts. */
const WORK = { work: "send-mail" } as const;
/** Milliseconds that the current try has when the process stops. Too high: the whole stop takes too long. */
const CLOSE_TIMEOUT_MS = 5_000;

/** Starts sending. */
export function startOutbox(options: OutboxOptions): MailOutbox {
  const { queues, onError, watch } = options;
  const stop = new AbortController();
  let closed = false;

  /** A failure in one queue does not delay the others' mails. */
  async function sendAll(): Promise<void> {
    for (const queue of await queues()) {
      await giveUpExpired(options, queue).catch(onError);
      while (!closed && (await sendNext(options, queue, stop.signal).catch(onError)) === true) watch?.gotOn();
    }
  }
  const sending: PeriodicWork = startPeriodic({
    intervalMs: POLL_INTERVAL_MS,
    work: sendAll,
    onError,
    watch,
    immediately: true,
  });
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

async function giveUpExpired(options: OutboxOptions, queue: MailQueue): Promise<void> {
  const { db, clock, mailer, logger, observe, addressee } = options;
  const now = clock();
  const expired = await queue.deleteExpired({
    recordedBefore: new Date(now - MAIL_LIFETIME_MS),
    // When no process ran for a day, each mail still gets one try.
    leastAttempts: mailer === undefined ? 0 : 1,
    now: new Date(now),
  });
  for (const { id, detail, attempts, body } of expired) {
    observe("expired");
    await forgetUnit({ db, ...WORK, systemId: queue.systemId, unit: id });
    logger.warn(
      { mailId: id, ...detail, attempts, mail: body },
      `a mail to ${addressee} was not sent within a day; given up`,
    );
  }
}

/** @returns whether there was one to send */
async function sendNext(options: OutboxOptions, queue: MailQueue, signal: AbortSignal): Promise<boolean> {
  const { db, clock, mailer, logger, observe, addressee, onError } = options;
  if (mailer === undefined) return false;
  const mail = await queue.claim(new Date(clock()), RETRY_DELAYS_MS);
  if (mail === undefined) return false;
  const guard = { db, ...WORK, systemId: queue.systemId, unit: mail.id, onError };
  const finish = async (outcome: MailOutcome): Promise<true> => {
    // Counted first: this is the outcome of the try, whether or not the row can be removed.
    observe(outcome);
    await queue.delete(mail.id);
    return true;
  };
  const { id, to, subject, body: text } = mail;
  const detail = { mailId: id, ...mail.detail, attempts: mail.attempts };
  if (to === null) {
    logger.warn({ ...detail, mail: text }, `a mail to ${addressee} has no address any more; given up`);
    await forgetUnit(guard);
    return finish("unaddressed");
  }
  // A process that ends while it sends is noted; whatever else becomes of the try is not the mail's doing.
  const send = () =>
    mailer.send({ id, to, subject, text }, signal).then(
      () => undefined,
      (error: unknown) => error,
    );
  const error = await runGuarded(guard, send).catch((reason: unknown) => reason);
  if (error === undefined) return finish("sent");
  if (error instanceof PermanentMailError) {
    logger.warn({ err: error, ...detail, mail: text }, `a mail to ${addressee} was refused; given up`);
    return finish("refused");
  }
  observe("postponed");
  logger.warn({ err: error, ...detail }, `a mail to ${addressee} could not be sent; tried again later`);
  return true;
}
