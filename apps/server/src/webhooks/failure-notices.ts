import { failureMail, type FailureNotice } from "./failure-mail.ts";
import type { Mailer } from "./mailer.ts";
import { describeEnd } from "./retry-policy.ts";
import type { Ending } from "./settler.ts";

export interface NoticeContext {
  /** Undefined: what would be mailed is logged. */
  readonly mailer: Mailer | undefined;
  readonly logger: { warn(detail: object, message: string): void };
  readonly clock: () => number;
  /** Where partners see their endpoints; null: nowhere. */
  readonly dashboardUrl: string | null;
}

/** Tells partners that their endpoints fail, by mail where there is one, and the operator by the log. */
export function tellFailures(context: NoticeContext, endings: readonly Ending[]): void {
  for (const ending of endings) {
    const notice = noticeOf(context, ending);
    if (notice !== undefined) tell(context, notice, ending.lane.endpoint.email);
  }
}

function noticeOf({ clock, dashboardUrl }: NoticeContext, ending: Ending): FailureNotice | undefined {
  const { lane, settled, change, warn } = ending;
  const about = change === "active" || change === null ? warn : change;
  // 100 % is the pause itself, which comes with its reason.
  if (about === null || about === 100) return undefined;
  const { url, partnerId } = lane.endpoint;
  const { failingSince, failures } = lane.health;
  return { about, url, partnerId, failingSince, failures, lastError: describeEnd(settled), at: clock(), dashboardUrl };
}

function tell({ mailer, logger }: NoticeContext, notice: FailureNotice, email: string | null): void {
  const { subject, text } = failureMail(notice);
  const detail = { partner: notice.partnerId, about: notice.about, failures: notice.failures };
  if (mailer === undefined || email === null) {
    logger.warn({ ...detail, mail: text }, subject);
    return;
  }
  logger.warn(detail, subject);
  const id = `mail_${notice.partnerId}_${notice.about}_${notice.at}`;
  mailer.send({ id, to: email, subject, text }).catch((error: unknown) => {
    logger.warn({ err: error, ...detail, mail: text }, "a mail to a partner could not be sent");
  });
}
