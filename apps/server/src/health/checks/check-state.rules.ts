/**
 * The states of a check over time: when mails about its findings are sent, and when it counts as resolved. A check
 * "begins" with its first finding, and "ends" after a while without one. The first mail is sent when findings have
 * lasted for two minutes.
 */
import { utcMinute } from "../../iso-instant.ts";
import type { CheckResult } from "./check.ts";

/** Records that somebody knows of a check's finding. */
export interface Acknowledgement {
  /** The name of the check. */
  readonly name: string;
  /** The machine or the system that the check examined; empty: the deployment. */
  readonly of: string;
  readonly subject: string;
  /** The worst severity that is acknowledged. */
  readonly severity: "warning" | "failure";
  /** The check's count at the acknowledgement; null: the check counts nothing. */
  readonly count: number | null;
  readonly at: Date;
  /** Null: until the finding is resolved or gets worse. */
  readonly until: Date | null;
  /** When a process last found it, to the hour. */
  readonly foundAt: Date;
}

/**
 * The factor by which a count must grow to be worse. Too low: natural growth sends mails repeatedly. Too high: nobody
 * notices the growth.
 */
const WORSE_FACTOR = 2;

/** Tells whether a result is worse than its acknowledgement: it has become a failure, or its count has doubled. */
function isWorse({ status, count }: CheckResult, acknowledged: Acknowledgement): boolean {
  if (acknowledged.severity === "warning" && status === "failure") return true;
  return acknowledged.count !== null && count !== undefined && count >= WORSE_FACTOR * acknowledged.count;
}

/** Returns the acknowledgement of a result, whether or not it still covers the result. */
function findAcknowledgement(
  acknowledgements: readonly Acknowledgement[],
  of: string,
  { check, subject = "" }: CheckResult,
): Acknowledgement | undefined {
  return acknowledgements.find((each) => each.name === check && each.of === of && each.subject === subject);
}

/** Returns the acknowledgement that covers a result: it has not expired, and the result is not worse. */
export function acknowledgementOf(
  acknowledgements: readonly Acknowledgement[],
  of: string,
  result: CheckResult,
  now: number,
): Acknowledgement | undefined {
  const found = findAcknowledgement(acknowledgements, of, result);
  if (found === undefined || (found.until !== null && found.until.getTime() <= now)) return undefined;
  return isWorse(result, found) ? undefined : found;
}

/**
 * Returns the acknowledgement that a result has outgrown. It is deleted, so that a result which alternates between
 * warning and failure sends one mail.
 */
export function outgrownBy(
  acknowledgements: readonly Acknowledgement[],
  of: string,
  result: CheckResult,
): Acknowledgement | undefined {
  const found = findAcknowledgement(acknowledgements, of, result);
  return found !== undefined && isWorse(result, found) ? found : undefined;
}

/** What one run of a check found that needs attention. */
export interface Sighting {
  /** The name of the check. */
  readonly name: string;
  /** The machine or the system on which it was found; empty: the deployment. */
  readonly of: string;
  readonly severity: "warning" | "failure";
  readonly detail: string;
  readonly fix: string;
  /** The findings. */
  readonly results: readonly CheckResult[];
}

/** The stored state of a check, with instants in milliseconds since 1970. */
export interface CheckState extends Sighting {
  /** The worst severity since the beginning, so that a change between two severities worsens once. */
  readonly severity: Sighting["severity"];
  readonly beganAt: number;
  /** When a process last found something. */
  readonly seenAt: number;
  /**
   * When the latest notice was due, even if its mail still waits (`unmailed`); null: none was, or the check has been
   * acknowledged since.
   */
  readonly mailedAt: number | null;
  /** Null: it has not ended. */
  readonly endedAt: number | null;
  /** 1 at first, and one more each time it begins again within a day of its end. */
  readonly episodes: number;
  /** The notice that a process without a mail server could not mail. */
  readonly unmailed: Notice | null;
}

/** The subject of a mail about a check. */
export type Notice = "begins" | "worsens" | "lasts" | "ends";

/** The change of a check's state at a run. */
export interface Step {
  /** Undefined: nothing more is stored about the check. */
  readonly next: CheckState | undefined;
  /** The subject of the mail that is due; undefined: none is. */
  readonly notice: Notice | undefined;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Minimum duration before a mail. Too low: mails restarts and busy minutes. */
const BEGIN_AFTER_MS = 2 * MINUTE_MS;
/**
 * Minimum time without findings before a check counts as resolved. It doubles each time the check finds something
 * again. So a problem that comes and goes all day sends, on the first day, at most nine mails that say that it has begun and
 * eight that say that it is over. Later it sends fewer.
 */
const END_AFTER_MS = 5 * MINUTE_MS;
const REMIND_AFTER_MS = DAY_MS;

interface FoundOptions {
  /** Whether a reminder is mailed each day. */
  readonly isReminded?: boolean;
  /** Whether every finding is acknowledged. */
  readonly isAcknowledged?: boolean;
}

/**
 * Returns the next state of a check when a process finds something.
 * @param stored undefined: no process has found anything lately
 */
export function whenFound(
  stored: CheckState | undefined,
  sighting: Sighting,
  now: number,
  { isReminded = true, isAcknowledged = false }: FoundOptions = {},
): Step {
  if (stored === undefined) {
    return { next: { ...sighting, ...begunAt(now), episodes: 1 }, notice: undefined };
  }
  if (stored.endedAt !== null) {
    return { next: { ...sighting, ...begunAt(now), episodes: stored.episodes + 1 }, notice: undefined };
  }
  const severity = stored.severity === "failure" ? stored.severity : sighting.severity;
  const next = { ...stored, ...sighting, severity, seenAt: now };
  // Treats the check as never mailed: it begins again after the acknowledgement, and nobody is notified if it ends before.
  if (isAcknowledged) return { next: { ...next, mailedAt: null, unmailed: null }, notice: undefined };
  if (stored.mailedAt === null) {
    return now - stored.beganAt < BEGIN_AFTER_MS
      ? { next, notice: undefined }
      : { next: { ...next, mailedAt: now }, notice: "begins" };
  }
  // Somebody who was warned of a filling disk learns at once that it is full, not with the next reminder.
  if (severity !== stored.severity) return { next: { ...next, mailedAt: now }, notice: "worsens" };
  if (!isReminded || now - stored.mailedAt < REMIND_AFTER_MS) return { next, notice: undefined };
  return { next: { ...next, mailedAt: now }, notice: "lasts" };
}

function begunAt(now: number) {
  return { beganAt: now, seenAt: now, mailedAt: null, endedAt: null, unmailed: null };
}

/**
 * Returns the next state of a check in which this process found nothing. The check ends once no process has found anything
 * for long enough.
 */
export function whenQuiet(stored: CheckState, now: number): Step {
  if (stored.endedAt !== null) {
    return { next: now - stored.endedAt < DAY_MS ? stored : undefined, notice: undefined };
  }
  const quietMs = Math.min(DAY_MS, END_AFTER_MS * 2 ** (stored.episodes - 1));
  if (now - stored.seenAt < quietMs) return { next: stored, notice: undefined };
  const next = { ...stored, endedAt: stored.seenAt };
  // Somebody who was not notified of the beginning need not be notified of the end.
  return { next, notice: stored.mailedAt === null ? undefined : "ends" };
}

/**
 * Returns the notice to mail now: that of this step, or the one that a process without a mail server left.
 * @param waiting the notice left before the step
 */
export function mailNow({ next, notice }: Step, waiting: Notice | null, canMail: boolean): Step {
  if (next === undefined) return { next, notice: undefined };
  const due = dueNotice(next, notice, waiting);
  return canMail
    ? { next: { ...next, unmailed: null }, notice: due ?? undefined }
    : { next: { ...next, unmailed: due }, notice: undefined };
}

function dueNotice({ endedAt }: CheckState, notice: Notice | undefined, waiting: Notice | null): Notice | null {
  // Drops a waiting "ends" if the check has begun again meanwhile: nobody was notified of the end.
  if (notice === undefined) return waiting === "ends" && endedAt === null ? null : waiting;
  if (waiting !== "begins") return notice;
  // Nobody was notified of the beginning yet, so the first mail is about the beginning. Somebody who was not notified of it
  // need not be notified of the end.
  return notice === "ends" ? null : "begins";
}

/** Tells whether the check needs attention now. */
export function isActive({ endedAt, beganAt, seenAt }: CheckState): boolean {
  return endedAt === null && seenAt - beganAt >= BEGIN_AFTER_MS;
}

interface MailOptions {
  readonly serviceName: string;
  readonly isReminded?: boolean;
  /** The page of the dashboard with the button to acknowledge it; undefined: PUBLIC_URL is not set. */
  readonly page?: string | undefined;
}

/** Returns the mail to the operator. Without a mail server, the log contains it. */
export function checkMail(
  state: CheckState,
  notice: Notice,
  { serviceName, isReminded = true, page }: MailOptions,
): { readonly subject: string; readonly text: string } {
  const { name, of, detail, fix, beganAt, seenAt } = state;
  const where = of === "" ? serviceName : `${serviceName}, ${of}`;
  const subject = {
    begins: `${capitalised(name)}: ${detail}`,
    worsens: `Worse: ${name}: ${detail}`,
    lasts: `Still: ${name}: ${detail}`,
    ends: `Over: ${name}`,
  }[notice];
  const text =
    notice === "ends"
      ? [
          `${capitalised(name)}, of ${where}: this is over.`,
          `It lasted from ${instant(beganAt)} to ${instant(seenAt)}.`,
        ]
      : [
          `${capitalised(name)}, of ${where}:`,
          `  ${detail}`,
          `Since ${instant(beganAt)}.`,
          "",
          `What to do: ${fix}`,
          "",
          ...(page === undefined ? [] : [`Acknowledge it, so that no more mails come: ${page}`]),
          `\`bikeshare doctor\` shows all checks. You get a mail when this is over${isReminded ? ", and one a day while it lasts" : ""}.`,
        ];
  return { subject, text: `${text.join("\n")}\n` };
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function instant(milliseconds: number): string {
  return utcMinute(new Date(milliseconds));
}
