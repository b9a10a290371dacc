import { systemsOf } from "../../city/systems/service.ts";
import type { Ids } from "../../ids.ts";
import type { Mailer } from "../../outbound/mail/mailer.ts";
import { type MailOutcome, type MailQueue, startOutbox } from "../../outbound/mail/outbox.ts";
import { type PeriodicWork, startPeriodic } from "../../storage/background/periodic.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import type { Database, Queryable } from "../../storage/db/database.ts";
import type { Concerns } from "../conditions/concerns.ts";
import {
  alertMail,
  type AlertState,
  isActive,
  mailNow,
  type Notice,
  type Sighting,
  type Step,
  whenFound,
  whenQuiet,
} from "./alert.rules.ts";
import type { AlertCheck } from "./checks.ts";
import { checked, type Finding } from "./finding.ts";
import {
  claimOperatorMail,
  deleteExpiredOperatorMails,
  deleteOperatorMail,
  insertOperatorMails,
} from "./mail-queries.ts";
import { type AlertRow, deleteAlert, listAlerts, lockAlerts, updateAlerts } from "./queries.ts";

export interface AlertsOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  /** What this process looks at. */
  readonly checks: readonly AlertCheck[];
  /** This machine, where a finding is true of it alone. */
  readonly machine: string;
  readonly addresses: readonly string[];
  /** Undefined: the log has what would be mailed. */
  readonly mailer: Mailer | undefined;
  readonly serviceName: string;
  readonly concerns: Concerns;
  readonly logger: { info(detail: object, message: string): void; warn(detail: object, message: string): void };
  readonly onError: (error: unknown) => void;
  readonly observeMail: (outcome: MailOutcome) => void;
  readonly watch?: WorkWatch | undefined;
}

/** Between two rounds of all checks. Longer, and the operator hears later; they cost PostgreSQL a few milliseconds. */
const CHECK_INTERVAL_MS = 60_000;

/** Checks again and again, and tells the operator. Any number of processes may: PostgreSQL sees to it that one of them mails. */
export function startAlerts(options: AlertsOptions): PeriodicWork {
  const { watch, ...shared } = options;
  const { db, onError } = shared;
  const checking = startPeriodic({ intervalMs: CHECK_INTERVAL_MS, work: () => checkAll(options), onError, watch });
  const outbox = startOutbox({
    ...shared,
    // They are no system's; the first one's list has those that end processes.
    queues: async () => (await systemsOf(db)).slice(0, 1).map((system) => operatorMails(db, system.system_id)),
    addressee: "the operator",
    observe: options.observeMail,
  });
  return {
    runOnce: async () => {
      await checking.runOnce();
      await outbox.runOnce();
    },
    close: async () => {
      await Promise.all([checking.close(), outbox.close()]);
    },
  };
}

/** What needs the operator now. */
export async function activeAlerts(db: Queryable): Promise<readonly AlertState[]> {
  return (await listAlerts(db)).map(stateOf).filter(isActive);
}

async function checkAll(options: AlertsOptions): Promise<void> {
  const { db, checks, clock, concerns, machine } = options;
  const sightings: Sighting[] = [];
  for (const { name, fix, scope, find, isConcernElsewhere = false } of checks) {
    const found = (await checked(name, fix, find)).filter(({ status }) => status !== "ok");
    if (!isConcernElsewhere) concerns.set(`alert ${name}`, found.length === 0 ? undefined : described(found));
    if (found.length > 0) sightings.push(sightingOf(name, scope === "machine" ? machine : "", found));
  }
  const now = clock();
  const notices = await db.transaction(async (tx) => {
    const stored = new Map((await lockAlerts(tx)).map((row) => [keyOf(row), stateOf(row)]));
    const steps: Step[] = sightings.map((each) =>
      whenFound(stored.get(keyOf(each)), each, now, isReminded(options, each)),
    );
    const found = new Set(sightings.map(keyOf));
    for (const [key, state] of stored) {
      if (found.has(key)) continue;
      const step = whenQuiet(state, now);
      steps.push(step);
      if (step.next === undefined) await deleteAlert(tx, state);
    }
    const mailed = steps.map((step) => {
      const waiting = step.next === undefined ? null : (stored.get(keyOf(step.next))?.unmailed ?? null);
      return mailNow(step, waiting, canMail(options));
    });
    await updateAlerts(
      tx,
      mailed.flatMap(({ next }) => (next === undefined ? [] : [rowOf(next)])),
    );
    await recordMails(options, (mails) => insertOperatorMails(tx, new Date(now), mails), noticesOf(mailed));
    // The log has what this process found, and what it mails for another.
    return noticesOf(mailed.map((each, index) => ({ ...each, notice: each.notice ?? steps[index]?.notice })));
  });
  for (const { alert, notice } of notices) log(options, alert, notice);
}

/** Without a mail server the log has what would be mailed, and another process mails it. */
function canMail({ mailer, addresses }: AlertsOptions): boolean {
  return mailer !== undefined && addresses.length > 0;
}

function isReminded({ checks }: AlertsOptions, alert: Pick<Sighting, "name">): boolean {
  return checks.find(({ name }) => name === alert.name)?.isPermitted !== true;
}

function noticesOf(steps: readonly Step[]): AlertNotice[] {
  return steps.flatMap(({ next, notice }) => (next && notice ? [{ alert: next, notice }] : []));
}

interface AlertNotice {
  readonly alert: AlertState;
  readonly notice: Notice;
}

async function recordMails(
  options: AlertsOptions,
  insert: (mails: Parameters<typeof insertOperatorMails>[2]) => Promise<void>,
  notices: readonly AlertNotice[],
): Promise<void> {
  const { ids, addresses, serviceName } = options;
  await insert(
    notices.flatMap(({ alert, notice }) => {
      const { subject, text: body } = alertMail(alert, notice, serviceName, isReminded(options, alert));
      return addresses.map((address) => ({ id: ids.next("mail"), address, subject, body }));
    }),
  );
}

function log(options: AlertsOptions, alert: AlertState, notice: Notice): void {
  const { logger } = options;
  const { name, scope, severity, detail, fix } = alert;
  const isMailed = canMail(options);
  const fields = { alert: name, ...(scope !== "" && { machine: scope }), severity, detail, fix, isMailed };
  if (notice === "ends") logger.info({ alert: name, isMailed }, "an alert is over");
  else logger.warn(fields, SENTENCES[notice]);
}

const SENTENCES = { begins: "an alert has begun", worsens: "an alert has become a failure", lasts: "an alert lasts" };

/** What several findings of one check say together. */
function sightingOf(name: string, scope: string, found: readonly Finding[]): Sighting {
  const severity = found.some(({ status }) => status === "failure") ? "failure" : "warning";
  const fixes = new Set(found.flatMap(({ fix }) => (fix === undefined ? [] : [fix])));
  return { name, scope, severity, detail: described(found), fix: [...fixes].slice(0, MAX_NAMED).join(" ") };
}

/** Findings of one check that are named; the doctor has them all. */
const MAX_NAMED = 3;

function described(found: readonly Finding[]): string {
  const more = found.length > MAX_NAMED ? `, and ${found.length - MAX_NAMED} more` : "";
  return `${found
    .slice(0, MAX_NAMED)
    .map(({ detail }) => detail)
    .join("; ")}${more}`;
}

function keyOf({ name, scope }: Pick<Sighting, "name" | "scope">): string {
  return JSON.stringify([name, scope]);
}

const NOTICES = ["begins", "worsens", "lasts", "ends"] as const;

function stateOf(row: AlertRow): AlertState {
  const { name, scope, detail, fix, episodes } = row;
  const unmailed = NOTICES.find((notice) => notice === row.unmailed) ?? null;
  return {
    ...{ name, scope, detail, fix, episodes, unmailed },
    severity: row.severity === "failure" ? "failure" : "warning",
    beganAt: row.began_at.getTime(),
    seenAt: row.seen_at.getTime(),
    mailedAt: row.mailed_at?.getTime() ?? null,
    endedAt: row.ended_at?.getTime() ?? null,
  };
}

function rowOf({ beganAt, seenAt, mailedAt, endedAt, ...rest }: AlertState): AlertRow {
  const instant = (at: number | null) => (at === null ? null : new Date(at));
  const began_at = new Date(beganAt);
  return { ...rest, began_at, seen_at: new Date(seenAt), mailed_at: instant(mailedAt), ended_at: instant(endedAt) };
}

function operatorMails(db: Database, systemId: string): MailQueue {
  return {
    systemId,
    async claim(now, delays) {
      const mail = await claimOperatorMail(db, now, delays);
      return mail && { ...mail, to: mail.address, detail: {} };
    },
    delete: (id) => deleteOperatorMail(db, id),
    deleteExpired: async (expiry) =>
      (await deleteExpiredOperatorMails(db, expiry)).map((mail) => ({ ...mail, detail: {} })),
  };
}
