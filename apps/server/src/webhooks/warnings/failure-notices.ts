import type { Transaction } from "../../db/database.ts";
import type { Ids } from "../../ids.ts";
import type { CompletedAttempt } from "../dispatcher/result-writer.ts";
import { pauseDescriptions } from "../endpoints/endpoint.ts";
import { describeOutcome } from "../rules/retry-policy.ts";
import { insertMails } from "./failure-mail-queries.ts";
import { failureMail, type FailureNotice } from "./failure-mail.ts";

export interface NoticeContext {
  readonly ids: Ids;
  /** Whether there is a mail server. Without one, what would be mailed is logged. */
  readonly canMail: boolean;
  readonly logger: { warn(detail: object, message: string): void };
  /** Where partners see their endpoints; null: nowhere. */
  readonly dashboardUrl: string | null;
}

/** Records the mails to partners whose endpoints fail, in the transaction that writes the results. */
export async function recordFailureMails(
  { ids, canMail, dashboardUrl }: NoticeContext,
  tx: Transaction,
  systemId: string,
  attempts: readonly CompletedAttempt[],
  now: Date,
): Promise<void> {
  const mails = attempts.flatMap((attempt) => {
    const notice = noticeOf(attempt, now, dashboardUrl);
    if (notice === undefined || !canMail || attempt.lane.endpoint.email === null) return [];
    const { subject, text } = failureMail(notice);
    return [{ id: ids.next("mail"), endpoint_id: attempt.lane.endpointId, subject, body: text }];
  });
  await insertMails(tx, systemId, now, mails);
}

/** Logs endpoints that fail, for the operator: with the whole text where no partner is mailed. */
export function logFailures(
  { canMail, dashboardUrl, logger }: NoticeContext,
  attempts: readonly CompletedAttempt[],
  now: Date,
): void {
  for (const attempt of attempts) {
    const notice = noticeOf(attempt, now, dashboardUrl);
    if (notice === undefined) continue;
    const { subject, text } = failureMail(notice);
    const isMailed = canMail && attempt.lane.endpoint.email !== null;
    const detail = { partner: notice.partnerId, about: notice.about, failures: notice.failures, ...wayBack(notice) };
    logger.warn(isMailed ? detail : { ...detail, mail: text }, subject);
  }
}

/** Why an endpoint is paused and what ends that: the mail may go to somebody other than the operator. */
function wayBack({ about, partnerId }: FailureNotice): { readonly reason?: string; readonly resume?: string } {
  if (about === 25 || about === 50) return {};
  return { reason: pauseDescriptions[about], resume: `bikeshare webhooks resume --partner ${partnerId}` };
}

function noticeOf(attempt: CompletedAttempt, now: Date, dashboardUrl: string | null): FailureNotice | undefined {
  const { lane, result, health, statusChange, warning } = attempt;
  const about = statusChange === "active" || statusChange === null ? warning : statusChange;
  // 100 % is the pause itself, which has its reason as `statusChange`.
  if (about === null || about === 100) return undefined;
  const { url, partnerId } = lane.endpoint;
  const { failingSince, failures } = health;
  return {
    about,
    url,
    partnerId,
    failingSince,
    failures,
    lastError: describeOutcome(result),
    at: now.getTime(),
    dashboardUrl,
  };
}
