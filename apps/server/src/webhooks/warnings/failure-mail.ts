import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { createMemoryRateLimiter } from "@bikeshare/rules";
import type { Ids } from "../../ids.ts";
import { utcMinute } from "../../iso-instant.ts";
import { type MailOutbox, type MailQueue, type OutboxOptions, startOutbox } from "../../outbound/mail/outbox.ts";
import type { Database, Transaction } from "../../storage/db/database.ts";
import type { CompletedAttempt } from "../dispatcher/result-writer.ts";
import type { DispatchEndpoint } from "../endpoints/dispatch-endpoints.ts";
import { pauseDescriptions } from "../endpoints/endpoint-context.ts";
import {
  describeOutcome,
  FAILING_LIMIT_MS,
  LEAST_DELIVERIES,
  LEAST_FAILURES,
  MAX_TRIES,
  type PauseCause,
  SCHEDULE_HOURS,
} from "../rules/after-attempt.ts";
import { senderLimits } from "../sender/connection.ts";
import { claimMail, deleteExpiredMails, deleteMail, insertMails } from "./failure-mail-queries.ts";

/*
 * Writes and sends mails to partners whose endpoints fail, and logs these failures for the operator. A notice in this file
 * is such a message. It has nothing to do with docs/glossary.md#notice.
 */

/** The context of functions that write and log notices. */
export interface NoticeContext {
  readonly ids: Ids;
  /** Tells whether an attempt may cause a mail: see `createMailLimiter`. */
  readonly mayMail: (attempt: CompletedAttempt) => boolean;
  /** There is a mail server. Without one, the texts of mails are logged. */
  readonly canMail: boolean;
  readonly logger: { warn(detail: object, message: string): void };
  /** The address of the service at which partners open the dashboard; undefined: it is not known. */
  readonly publicUrl: string | undefined;
}

const HOUR_MS = 3_600_000;
/**
 * Limits the mails about one endpoint in an hour. A webhook that keeps failing and being resumed needs no more. Without the
 * limit, a partner could use the operator's domain to flood an address.
 */
const MAILS_PER_HOUR = 6;

/**
 * Creates a limit of the mails about each endpoint, counted in this process. Counts an attempt once, though its result and
 * mail are written again after a failed transaction.
 * @param monotonic milliseconds of a monotonic clock
 */
export function createMailLimiter(monotonic: () => number = () => performance.now()): NoticeContext["mayMail"] {
  const limiter = createMemoryRateLimiter(monotonic, HOUR_MS);
  const decided = new WeakMap<CompletedAttempt, boolean>();
  return (attempt) => {
    const mayMail = decided.get(attempt) ?? limiter.take(attempt.lane.endpointId, MAILS_PER_HOUR).allowed;
    decided.set(attempt, mayMail);
    return mayMail;
  };
}

/** Records the mails to partners whose endpoints fail, in the transaction that writes the results. */
export async function recordFailureMails(
  { ids, canMail, publicUrl, mayMail }: NoticeContext,
  tx: Transaction,
  systemId: string,
  attempts: readonly CompletedAttempt[],
  now: Date,
): Promise<void> {
  const mails = attempts.flatMap((attempt) => {
    const notice = noticeOf(attempt, now, publicUrl);
    if (notice === undefined || !canMail || attempt.lane.endpoint.email === null) return [];
    // Asked last, because it counts the mail.
    if (!mayMail(attempt)) return [];
    const { subject, text } = failureMail(notice);
    return [{ id: ids.next("mail"), endpoint_id: attempt.lane.endpointId, subject, body: text }];
  });
  await insertMails(tx, systemId, now, mails);
}

/**
 * Logs failing endpoints for the operator. Logs the whole text if no mail can be sent: there is no mail server, or the
 * endpoint has no mail address.
 */
export function logFailures(
  { canMail, publicUrl, logger }: NoticeContext,
  attempts: readonly CompletedAttempt[],
  now: Date,
): void {
  for (const attempt of attempts) {
    const notice = noticeOf(attempt, now, publicUrl);
    if (notice === undefined) continue;
    const { subject, text } = failureMail(notice);
    const canBeMailed = canMail && attempt.lane.endpoint.email !== null;
    const detail = {
      partner: notice.partnerId,
      endpoint: notice.endpointId,
      about: notice.about,
      failures: notice.failures,
      ...pauseDetail(notice),
    };
    logger.warn(canBeMailed ? detail : { ...detail, mail: text }, subject);
  }
}

/**
 * Returns why an endpoint is paused, and the command that resumes it; nothing if it is only failing. The log has both,
 * because the reader of the mail may not be the operator.
 */
function pauseDetail({ about, partnerId, endpointId }: FailureNotice): {
  readonly reason?: string;
  readonly resume?: string;
} {
  if (isWarning(about)) return {};
  return {
    reason: pauseDescriptions[about],
    resume: `bikeshare webhooks resume --partner ${partnerId} --endpoint ${endpointId}`,
  };
}

/** Returns the facts of the mail that an attempt causes; undefined: it causes none. */
function noticeOf(attempt: CompletedAttempt, now: Date, publicUrl: string | undefined): FailureNotice | undefined {
  const { lane, result, health, statusChange, warning } = attempt;
  // `statusChange`: the reason for a pause, `active` if the endpoint works again, or null. `warning`: the share in
  // percent.
  const about = statusChange === "active" || statusChange === null ? warning : statusChange;
  // A warning of 100 % comes with the pause, whose mail `statusChange` causes.
  if (about === null || about === 100) return undefined;
  const { id: endpointId, name, url, partnerId } = lane.endpoint;
  const { failingSince, failures } = health;
  return {
    about,
    url,
    partnerId,
    endpointId,
    name,
    failingSince,
    failures,
    lastError: describeOutcome(result),
    at: now.getTime(),
    dashboardUrl: publicUrl === undefined ? null : deliveriesPage(publicUrl, lane.endpoint),
  };
}

/** Returns the address of the page with a partner's deliveries. */
function deliveriesPage(publicUrl: string, { systemId, partnerId }: DispatchEndpoint): string {
  const system = new URLSearchParams({ system: systemId }).toString();
  return `${publicUrl}/dashboard/partners/${encodeURIComponent(partnerId)}/deliveries?${system}`;
}

/** The facts of a mail to a partner about a failing endpoint. Instants in milliseconds since 1970. */
export interface FailureNotice {
  /** The share of the time to a pause that has passed, in percent; or the reason for the pause. */
  readonly about: 25 | 50 | PauseCause;
  readonly url: string;
  readonly partnerId: string;
  readonly endpointId: string;
  /** What the partner calls the endpoint. */
  readonly name: string;
  /** When the first attempt of this stretch of failing failed (`EndpointHealth`); null where that is not known. */
  readonly failingSince: number | null;
  /** Attempts that have failed since then. */
  readonly failures: number;
  /** The latest failure in a few words: `answered 500`. */
  readonly lastError: string;
  /** When the latest failure was recorded. */
  readonly at: number;
  /** The address where the partner sees the endpoint; null when there is no such page. */
  readonly dashboardUrl: string | null;
}

/** A mail. If it cannot be sent, its text goes to the log. */
interface FailureMail {
  readonly subject: string;
  readonly text: string;
}

const DAY_MS = 24 * HOUR_MS;

/** Returns the mail that warns a partner of a failing or paused endpoint. */
export function failureMail(notice: FailureNotice): FailureMail {
  const { about } = notice;
  const host = URL.parse(notice.url)?.host ?? "your address";
  const sections = isWarning(about)
    ? [failing(notice, host), `What happens next: ${nextSteps(notice)}`, whatToDo(notice), whereToFindOut(notice)]
    : [paused[about](notice, host), HELD, whatToDo(notice), howToGoOn(notice), whereToFindOut(notice)];
  return {
    subject: isWarning(about) ? `Webhooks to ${host} are failing` : `Webhooks to ${host} are paused`,
    text: `${sections.join("\n\n")}\n`,
  };
}

/** Tells whether a notice warns of a pause that is to come; false: the endpoint is paused. */
function isWarning(about: FailureNotice["about"]): about is 25 | 50 {
  return about === 25 || about === 50;
}

/** Returns the section about failures: since when, how many, and the last one. */
function failing({ failingSince, at, failures, lastError }: FailureNotice, host: string): string {
  const since = failingSince ?? at;
  return [
    `No webhook to ${host} has succeeded since ${instant(since)} (for ${hours(at - since)}).`,
    `Failed attempts since then: ${failures}. The last one, at ${instant(at)}: ${oneLine(lastError)}.`,
  ].join("\n");
}

/** The section about a pause, by its cause. */
const paused: Readonly<Record<PauseCause, (notice: FailureNotice, host: string) => string>> = {
  failing: (notice, host) => `${failing(notice, host)}\nThe endpoint is paused now: it is sent nothing any more.`,
  gone: ({ at }, host) =>
    `${host} answered 410 Gone to every webhook for more than a minute, last at ${instant(at)}, which means that nobody wants them there any more.\nThe endpoint is paused now: it is sent nothing any more.`,
  probe_failed: ({ at, lastError }, host) =>
    `The endpoint at ${host} was resumed, and the webhook that was sent to see whether it is well failed at ${instant(at)}: ${oneLine(lastError)}.\nThe endpoint is paused again: it is sent nothing any more.`,
};

const HELD = `Nothing is lost: its events are kept for ${EVENT_RETENTION_DAYS} days and can be sent when it is well.`;

function nextSteps({ failingSince, at }: FailureNotice): string {
  return `each webhook is tried ${MAX_TRIES} times in about ${SCHEDULE_HOURS} hours. When nothing has succeeded for ${hours(FAILING_LIMIT_MS)}, which is at ${instant((failingSince ?? at) + FAILING_LIMIT_MS)}, the endpoint is paused, if at least ${LEAST_FAILURES} attempts for ${LEAST_DELIVERIES} different events have failed by then. A single success ends all this, and so does a day without attempts.`;
}

function whatToDo({ about }: FailureNotice): string {
  return about === "gone"
    ? "What to do: if the address has moved, have the new one set. If that was a mistake, such as a wrong deployment, resume it as below. If you want no webhooks any more, there is nothing to do."
    : `What to do: see to it that the endpoint answers every webhook with a status from 200 to 299 within ${senderLimits.totalTimeoutMs / 1_000} seconds. The log of attempts shows what was sent and what came back.`;
}

function howToGoOn(notice: FailureNotice): string {
  const since = replayFrom(notice);
  const which = `${notice.partnerId} --endpoint ${notice.endpointId}`;
  return [
    "How to go on, when it is well:",
    "1. Resume it. One webhook is sent to try; when that succeeds, new events follow.",
    `2. Replay what failed or was held since ${instant(since)}.`,
    "Whoever runs the service does the same with:",
    `  bikeshare webhooks resume --partner ${which}`,
    `  bikeshare webhooks replay --partner ${which} --status failed,held --since ${new Date(since).toISOString()}`,
  ].join("\n");
}

/**
 * Returns the instant from which to replay events. It is a day before the first failure, because the first failed delivery
 * is older than its failure and may have waited for its turn. After a failed probe the held deliveries may be as old as any
 * that are stored.
 */
function replayFrom({ about, failingSince, at }: FailureNotice): number {
  return about === "probe_failed" ? at - EVENT_RETENTION_DAYS * DAY_MS : (failingSince ?? at) - DAY_MS;
}

function whereToFindOut({ dashboardUrl, name, url }: FailureNotice): string {
  const where = dashboardUrl === null ? "Ask whoever runs the service for the log of attempts." : dashboardUrl;
  // Leaves out the path and the query: they may be a secret that protects the endpoint, and many people may read a mail.
  return `Endpoint: “${name}”, ${URL.parse(url)?.origin ?? "unknown"}/…\n${where}`;
}

function instant(milliseconds: number): string {
  return utcMinute(new Date(milliseconds));
}

function hours(milliseconds: number): string {
  return `${Math.max(1, Math.round(milliseconds / HOUR_MS))} h`;
}

/** Shortens a receiver's text to one line: it may be long and hold anything. */
function oneLine(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

export interface MailOutboxOptions extends Omit<OutboxOptions, "queues" | "addressee"> {
  readonly db: Database;
  /** Returns the ids of all systems. */
  readonly systems: () => Promise<readonly string[]>;
}

/** Sends the mails to partners whose endpoints fail. */
export function startMailOutbox({ db, systems, ...options }: MailOutboxOptions): MailOutbox {
  const queues = async () => (await systems()).map((systemId) => mailsOf(db, systemId));
  return startOutbox({ ...options, db, queues, addressee: "a partner" });
}

function mailsOf(db: Database, systemId: string): MailQueue {
  return {
    systemId,
    async claim(now, delays) {
      const mail = await claimMail(db, systemId, now, delays);
      return mail && { ...mail, to: mail.email, detail: { partner: mail.partner_id } };
    },
    delete: (id) => deleteMail(db, systemId, id),
    deleteExpired: async (expiry) =>
      (await deleteExpiredMails(db, systemId, expiry)).map((mail) => ({
        ...mail,
        // The rows have no partner, which `claimMail` finds by the endpoint.
        detail: { endpoint: mail.endpoint_id },
      })),
  };
}
