import type { Transaction } from "../../db/database.ts";
import type { Ids } from "../../ids.ts";
import type { CompletedAttempt } from "../dispatcher/result-writer.ts";
import { pauseDescriptions } from "../endpoints/endpoint.ts";
import { describeEnd } from "../log/delivery-view.ts";
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

/** Notes the mails to partners whose endpoints fail, in the transaction that writes the failures down. */
export async function recordFailureMails(
  { ids, canMail, dashboardUrl }: NoticeContext,
  tx: Transaction,
  systemId: string,
  endings: readonly CompletedAttempt[],
  now: Date,
): Promise<void> {
  const mails = endings.flatMap((ending) => {
    const notice = noticeOf(ending, now, dashboardUrl);
    if (notice === undefined || !canMail || ending.lane.endpoint.email === null) return [];
    const { subject, text } = failureMail(notice);
    return [{ id: ids.next("mail"), endpoint_id: ending.lane.endpointId, subject, body: text }];
  });
  await insertMails(tx, systemId, now, mails);
}

/** Tells the operator of endpoints that fail, by the log: with the whole text where no partner hears it by mail. */
export function logFailures(
  { canMail, dashboardUrl, logger }: NoticeContext,
  endings: readonly CompletedAttempt[],
  now: Date,
): void {
  for (const ending of endings) {
    const notice = noticeOf(ending, now, dashboardUrl);
    if (notice === undefined) continue;
    const { subject, text } = failureMail(notice);
    const isMailed = canMail && ending.lane.endpoint.email !== null;
    const detail = { partner: notice.partnerId, about: notice.about, failures: notice.failures, ...wayBack(notice) };
    logger.warn(isMailed ? detail : { ...detail, mail: text }, subject);
  }
}

/** Why an endpoint is paused and what ends that, where the mail with it may be another person's. */
function wayBack({ about, partnerId }: FailureNotice): { readonly reason?: string; readonly resume?: string } {
  if (about === 25 || about === 50) return {};
  return { reason: pauseDescriptions[about], resume: `bikeshare webhooks resume --partner ${partnerId}` };
}

function noticeOf(ending: CompletedAttempt, now: Date, dashboardUrl: string | null): FailureNotice | undefined {
  const { lane, result, health, statusChange, warning } = ending;
  const about = statusChange === "active" || statusChange === null ? warning : statusChange;
  // 100 % is the pause itself, which comes with its reason.
  if (about === null || about === 100) return undefined;
  const { url, partnerId } = lane.endpoint;
  const { failingSince, failures } = health;
  return {
    about,
    url,
    partnerId,
    failingSince,
    failures,
    lastError: describeEnd(result),
    at: now.getTime(),
    dashboardUrl,
  };
}
