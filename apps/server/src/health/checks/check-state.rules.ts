/** What becomes of a check that finds something, over time: when it is mailed, and when it counts as over. */
import { utcMinute } from "../../iso-instant.ts";
import type { CheckResult } from "./check.ts";

/** What a check has found, that somebody has to look into. */
export interface Sighting {
  /** The check. */
  readonly name: string;
  /** The machine or the system on which it was found; empty: it is true of the deployment. */
  readonly of: string;
  readonly severity: "warning" | "failure";
  readonly detail: string;
  readonly fix: string;
  /** What was found, one by one. */
  readonly results: readonly CheckResult[];
}

/** A check as it is kept, its instants in milliseconds since 1970. */
export interface CheckState extends Sighting {
  /** The worst since it began: what wavers between both worsens once. */
  readonly severity: Sighting["severity"];
  readonly beganAt: number;
  readonly seenAt: number;
  /** When the latest mail about it was recorded; null: none was yet, or it has been acknowledged since. */
  readonly mailedAt: number | null;
  readonly endedAt: number | null;
  /** How often it has begun without a day between. */
  readonly episodes: number;
  /** What a process without a mail server found, and nobody has mailed yet. */
  readonly unmailed: Notice | null;
}

/** What a mail says of a check. */
export type Notice = "begins" | "worsens" | "lasts" | "ends";

export interface Step {
  /** Undefined: nothing is kept of it any more. */
  readonly next: CheckState | undefined;
  readonly notice: Notice | undefined;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** How long something must be found before anybody is told: a restart, or a busy minute, needs nobody. */
const BEGIN_AFTER_MS = 2 * MINUTE_MS;
/**
 * How long it must not be found until it counts as over; twice as long each time that it comes back. So what comes and goes
 * all day sends nine pairs of mails on the first day, and then fewer.
 */
const END_AFTER_MS = 5 * MINUTE_MS;
const REMIND_AFTER_MS = DAY_MS;

interface Found {
  /** Whether it is mailed again each day. */
  readonly isReminded?: boolean;
  /** Whether somebody knows of all that was found. */
  readonly isAcknowledged?: boolean;
}

/**
 * What becomes of a check when a process finds something now.
 * @param stored undefined: nobody has found it lately
 */
export function whenFound(
  stored: CheckState | undefined,
  sighting: Sighting,
  now: number,
  { isReminded = true, isAcknowledged = false }: Found = {},
): Step {
  if (stored === undefined) {
    return { next: { ...sighting, ...begunAt(now), episodes: 1 }, notice: undefined };
  }
  if (stored.endedAt !== null) {
    return { next: { ...sighting, ...begunAt(now), episodes: stored.episodes + 1 }, notice: undefined };
  }
  const severity = stored.severity === "failure" ? stored.severity : sighting.severity;
  const next = { ...stored, ...sighting, severity, seenAt: now };
  // As if it had never been mailed: once the acknowledgement is over it begins again, and if it ends before, nobody is told.
  if (isAcknowledged) return { next: { ...next, mailedAt: null, unmailed: null }, notice: undefined };
  if (stored.mailedAt === null) {
    return now - stored.beganAt < BEGIN_AFTER_MS
      ? { next, notice: undefined }
      : { next: { ...next, mailedAt: now }, notice: "begins" };
  }
  // Who was warned of a disk that fills learns at once, and not with the next reminder, that it is all but full.
  if (severity !== stored.severity) return { next: { ...next, mailedAt: now }, notice: "worsens" };
  if (!isReminded || now - stored.mailedAt < REMIND_AFTER_MS) return { next, notice: undefined };
  return { next: { ...next, mailedAt: now }, notice: "lasts" };
}

function begunAt(now: number) {
  return { beganAt: now, seenAt: now, mailedAt: null, endedAt: null, unmailed: null };
}

/** What becomes of a check in which nobody may have found anything for a while. */
export function whenQuiet(stored: CheckState, now: number): Step {
  if (stored.endedAt !== null) {
    return { next: now - stored.endedAt < DAY_MS ? stored : undefined, notice: undefined };
  }
  const quietMs = Math.min(DAY_MS, END_AFTER_MS * 2 ** (stored.episodes - 1));
  if (now - stored.seenAt < quietMs) return { next: stored, notice: undefined };
  const next = { ...stored, endedAt: stored.seenAt };
  // Nobody needs to hear that something is over who never heard that it had begun.
  return { next, notice: stored.mailedAt === null ? undefined : "ends" };
}

/**
 * Returns what is mailed of a check now: what this step tells, and what a process without a mail server has left.
 * @param waiting what was left before the step
 */
export function mailNow({ next, notice }: Step, waiting: Notice | null, canMail: boolean): Step {
  if (next === undefined) return { next, notice: undefined };
  const due = dueNotice(next, notice, waiting);
  return canMail
    ? { next: { ...next, unmailed: null }, notice: due ?? undefined }
    : { next: { ...next, unmailed: due }, notice: undefined };
}

function dueNotice({ endedAt }: CheckState, notice: Notice | undefined, waiting: Notice | null): Notice | null {
  // It has begun again before anybody was told of its end.
  if (notice === undefined) return waiting === "ends" && endedAt === null ? null : waiting;
  if (waiting !== "begins") return notice;
  // Nobody needs to hear of the end who never heard of the beginning.
  return notice === "ends" ? null : "begins";
}

/** Whether somebody has to look into it now. */
export function isActive({ endedAt, beganAt, seenAt }: CheckState): boolean {
  return endedAt === null && seenAt - beganAt >= BEGIN_AFTER_MS;
}

interface MailOptions {
  readonly serviceName: string;
  readonly isReminded?: boolean;
  /** The page of the dashboard on which it is acknowledged; undefined: PUBLIC_URL is not set. */
  readonly page?: string | undefined;
}

/** The mail to the operator, which the log has where there is no mail server. */
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
