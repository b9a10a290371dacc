import { type PeriodicWork, startPeriodic } from "../../storage/background/periodic.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { forgetUnit, runGuarded } from "../../storage/set-aside/units.ts";
import { MAIL_TIMEOUT_MS, type Mailer, PermanentMailError } from "./mailer.ts";

/*
 * Sends recorded mails, from tables that callers pass as `MailQueue`, and tries again until a mail is sent or given up. This
 * is not the outbox of events (docs/glossary.md#outbox).
 */

/**
 * The outcome of one try to send a mail, or of the mail.
 *
 * - `sent`: the server took it.
 * - `postponed`: it could not be sent now, and is tried again.
 * - `refused`: the server will never take it. Given up.
 * - `expired`: it could not be sent for a day. Given up.
 * - `unaddressed`: it has no recipient any more. Given up.
 */
export type MailOutcome = "sent" | "postponed" | "refused" | "expired" | "unaddressed";

/** A mail that waits to be sent. */
interface QueuedMail {
  readonly id: string;
  /** Null: there is no address any more. */
  readonly to: string | null;
  readonly subject: string;
  readonly body: string;
  /** Tries, this one included. */
  readonly attempts: number;
  /** Fields that log lines about the mail get, such as the partner's id. */
  readonly detail: object;
}

/** Milliseconds from the start of a try to the start of the next: `first`, then twice as long each time, up to `most`. */
export interface RetryDelays {
  readonly first: number;
  readonly most: number;
}

/**
 * The conditions for giving up mails: their age, their number of tries, and that they are due at `now`. A mail that is
 * being sent is not due.
 */
export interface Expiry {
  readonly recordedBefore: Date;
  readonly leastAttempts: number;
  readonly now: Date;
}

/** A table of mails that wait to be sent. */
export interface MailQueue {
  /** The system in whose list of set-aside work a mail of this queue appears if sending it ended processes. */
  readonly systemId: string;
  /** Claims the mail that has been due for longest, and postpones its next try; undefined: none is due. */
  claim(now: Date, delays: RetryDelays): Promise<QueuedMail | undefined>;
  /** Deletes a mail that was sent or given up. */
  delete(id: string): Promise<void>;
  /** Deletes mails that are to be given up. @returns these mails */
  deleteExpired(expiry: Expiry): Promise<readonly Pick<QueuedMail, "id" | "attempts" | "body" | "detail">[]>;
}

/** Sends the recorded mails. Any number of processes may have one: each mail is sent by one process at a time. */
export interface MailOutbox {
  /** Sends due mails now, after the current pass. Never rejects. */
  runOnce(): Promise<void>;
  /** Begins no more tries. The current try has a few seconds to end, and is repeated later if it does not. */
  close(): Promise<void>;
}

export interface OutboxOptions {
  readonly db: Queryable;
  readonly clock: () => number;
  readonly queues: () => Promise<readonly MailQueue[]>;
  /** How log lines name the recipients of these mails, such as `a partner`. */
  readonly addressee: string;
  /** Undefined: no mail server is configured. Mails that are already queued wait until they expire. */
  readonly mailer: Mailer | undefined;
  readonly logger: { warn(detail: object, message: string): void };
  /** Called when a pass or a part of it fails. The next pass tries again. */
  readonly onError: (error: unknown) => void;
  /** Called with the outcome of each try and each mail. */
  readonly observe: (outcome: MailOutcome) => void;
  /** Records whether the passes succeed, and how long they take. */
  readonly watch?: WorkWatch | undefined;
}

/** Milliseconds between two passes. Too low: most passes find nothing. Too high: delays every mail. */
const POLL_INTERVAL_MS = 5_000;
/**
 * Milliseconds between tries. `first` is longer than a try may take: otherwise two processes would send the same mail.
 * `most`: Too low: asks a busy server too often. Too high: mails come late after the server is back.
 */
const RETRY_DELAYS_MS: RetryDelays = { first: MAIL_TIMEOUT_MS + 15_000, most: 3_600_000 };
/** Milliseconds after which a mail is given up, because its content is outdated. */
const MAIL_LIFETIME_MS = 24 * 3_600_000;
/** A mail that ends three processes in a row is set aside: see storage/set-aside/units.ts. */
const WORK = { work: "send-mail" } as const;
/** Milliseconds that the current try has when the process stops. Too high: the whole stop takes too long. */
const CLOSE_TIMEOUT_MS = 5_000;

/** Starts to send the mails of all queues. */
export function startOutbox(options: OutboxOptions): MailOutbox {
  const { queues, onError, watch } = options;
  const stop = new AbortController();
  let closed = false;

  /** Sends the due mails of every queue. A failure in one queue does not delay the mails of other queues. */
  async function sendAll(): Promise<void> {
    for (const queue of await queues()) {
      await giveUpExpired(options, queue).catch(onError);
      // An error ends the pass of this queue: `catch` then gives undefined.
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
    // With a mail server, each mail gets at least one try, even if no process ran for a day.
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

/** Sends the mail that has been due for longest. @returns false when none is due, or there is no mail server */
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
  // Sends the mail under `runGuarded`, which notices if the mail ends this process. Returns an error as a value: this
  // process survived the try, so the processes that the mail ended before must be forgotten, and `runGuarded` does that
  // only if the work does not throw.
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
