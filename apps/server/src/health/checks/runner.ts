import { systemsOf } from "../../city/systems/service.ts";
import type { Ids } from "../../ids.ts";
import type { Mailer } from "../../outbound/mail/mailer.ts";
import { type MailOutcome, type MailQueue, startOutbox } from "../../outbound/mail/outbox.ts";
import { type PeriodicWork, startPeriodic } from "../../storage/background/periodic.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import type { Database, Transaction } from "../../storage/db/database.ts";
import { acknowledgements } from "./acknowledgements.ts";
import {
  type Acknowledgement,
  acknowledgementOf,
  checkMail,
  type CheckState,
  mailNow,
  type Notice,
  outgrownBy,
  type Sighting,
  type Step,
  whenFound,
  whenQuiet,
} from "./check-state.rules.ts";
import {
  type Check,
  type CheckName,
  type CheckResult,
  checkScopes,
  isCheckName,
  type Outlet,
  outletsOf,
} from "./check.ts";
import { type RunCheck, runChecks } from "./list.ts";
import {
  claimOperatorMail,
  deleteAcknowledgement,
  deleteCheckRow,
  deleteEndedAcknowledgements,
  deleteExpiredAcknowledgements,
  deleteExpiredOperatorMails,
  deleteOperatorMail,
  insertOperatorMails,
  lockCheckRows,
  updateCheckRows,
  updateFoundAcknowledgement,
} from "./queries.ts";
import { rowOf, stateOf } from "./stored-checks.ts";

/*
 * Runs the checks repeatedly, stores their findings, and mails the operator. A finding that the operator has acknowledged
 * stays visible, and no mail is sent about it. The rules of when a mail is due are in check-state.rules.ts.
 */

/**
 * Returns the queue of mails to the operator. These mails belong to no system; one that crashes processes is set aside in
 * the first system.
 */
async function operatorMailQueues(db: Database): Promise<MailQueue[]> {
  return (await systemsOf(db)).slice(0, 1).map((system) => queueOf(db, system.system_id));
}

function queueOf(db: Database, systemId: string): MailQueue {
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

interface CheckRunnerOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  /** Returns the checks of each run. */
  readonly checks: () => Promise<readonly Check[]>;
  /** Returns results about this process from its memory, without a query. */
  readonly processResults?: () => readonly CheckResult[];
  /** Returns results that partners must fix, for the metric. */
  readonly partnerResults?: () => Promise<readonly CheckResult[]>;
  readonly addresses: readonly string[];
  /** Undefined: the mails go to the log. */
  readonly mailer: Mailer | undefined;
  readonly serviceName: string;
  /** Returns the page on which a check is acknowledged; undefined: there is no address. */
  readonly pageOf?: (check: { readonly name: string; readonly of: string }) => string | undefined;
  readonly logger: { info(detail: object, message: string): void; warn(detail: object, message: string): void };
  readonly onError: (error: unknown) => void;
  readonly observeMail: (outcome: MailOutcome) => void;
  readonly watch?: WorkWatch | undefined;
}

/** A result as the outlets of this process show it. */
export interface CurrentResult extends CheckResult {
  readonly check: CheckName;
  readonly isAcknowledged: boolean;
}

export interface CheckRunner extends PeriodicWork {
  /** Returns the current results that are warnings or failures. */
  results(): readonly CurrentResult[];
}

/** Interval between two runs. Too low: costs PostgreSQL. Too high: delays `/readyz`, the metric and mails. */
const CHECK_INTERVAL_MS = 30_000;

/**
 * Runs the checks repeatedly and notifies the operator. Any number of processes may do so: PostgreSQL ensures that one
 * of them mails.
 */
export function startChecks(options: CheckRunnerOptions): CheckRunner {
  const { watch, processResults = () => [], ...shared } = options;
  const { db, onError } = shared;
  let latest: readonly CurrentResult[] = [];
  const work = async () => {
    latest = await runOnce(options);
  };
  const checking = startPeriodic({ intervalMs: CHECK_INTERVAL_MS, work, onError, watch, immediately: true });
  const outbox = startOutbox({
    ...shared,
    queues: () => operatorMailQueues(db),
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
    results: () => {
      const now = processResults();
      const known = new Set(now.map(({ check }) => check));
      const isAcknowledged = ({ check, subject }: CheckResult) =>
        latest.some((each) => each.check === check && each.subject === subject && each.isAcknowledged);
      // A process knows its own state better now than at its latest run.
      return [
        ...named(found(now)).map((result) => ({ ...result, isAcknowledged: isAcknowledged(result) })),
        ...latest.filter(({ check }) => !known.has(check)),
      ];
    },
  };
}

/** Returns only the results of checks that run by themselves, which `checkScopes` lists. */
function named(results: readonly CheckResult[]): (CheckResult & { readonly check: CheckName })[] {
  return results.flatMap((result) => (isCheckName(result.check) ? [{ ...result, check: result.check }] : []));
}

async function runOnce(options: CheckRunnerOptions): Promise<CurrentResult[]> {
  const { db, checks, clock, partnerResults = () => Promise.resolve([]) } = options;
  const run = await runChecks(await checks());
  const known = await acknowledgements(db);
  const now = clock();
  await recordFindings(options, run, known);
  const ofOperator = run.flatMap(({ check: { name, of }, results }) =>
    found(results).map((result) => ({
      ...result,
      check: name,
      isAcknowledged: acknowledgementOf(known, of, result, now) !== undefined,
    })),
  );
  const ofPartners = named(found(await partnerResults()));
  return [...ofOperator, ...ofPartners.map((result) => ({ ...result, isAcknowledged: false }))];
}

/** Returns only the results that are problems: warnings and failures. */
function found(results: readonly CheckResult[]): CheckResult[] {
  return results.filter(({ status }) => status !== "ok" && status !== "info");
}

interface CheckNotice {
  readonly state: CheckState;
  readonly notice: Notice;
}

/**
 * Stores the findings, and records mails about checks that begin, get worse, last or end. A check is identified by its name
 * and by the machine or system that it examined (`of`).
 * @param known all acknowledgements
 */
async function recordFindings(
  options: CheckRunnerOptions,
  run: readonly RunCheck[],
  known: readonly Acknowledgement[],
): Promise<void> {
  const now = options.clock();
  const mailedOnce = new Set(run.filter(({ check }) => check.isMailedOnce).map(({ check }) => check.name as string));
  const notices = await options.db.transaction(async (tx) => {
    const stored = new Map((await lockCheckRows(tx)).map((row) => [keyOf(stateOf(row)), stateOf(row)]));
    const steps: Step[] = [];
    const seen = new Set<string>();
    for (const { check, results } of run) {
      const sighting = sightingOf(check, found(results), known, now);
      if (sighting === undefined) continue;
      seen.add(keyOf(sighting));
      const { isAcknowledged } = sighting;
      const before = stored.get(keyOf(sighting));
      steps.push(whenFound(before, sighting, now, { isReminded: !check.isMailedOnce, isAcknowledged }));
      for (const result of found(results)) await refreshAcknowledgement(tx, known, check.of, result, now);
    }
    for (const [key, state] of stored) if (!seen.has(key)) steps.push(await endIfQuiet(tx, state, now));
    await deleteExpiredAcknowledgements(tx, new Date(now), new Date(now - DAY_MS));
    const mailed = steps.map((step) => {
      const waiting = step.next === undefined ? null : waitingOf(stored.get(keyOf(step.next)), step.next);
      return mailNow(step, waiting, canMail(options));
    });
    await updateCheckRows(
      tx,
      mailed.flatMap(({ next }) => (next === undefined ? [] : [rowOf(next)])),
    );
    await recordMails(options, tx, noticesOf(mailed), mailedOnce);
    // A process that cannot mail logs the notice of its own step. One that can mail logs what it mails, which may be
    // the notice that another process left.
    return noticesOf(mailed.map((each, index) => ({ ...each, notice: each.notice ?? steps[index]?.notice })));
  });
  for (const { state, notice } of notices) log(options, state, notice);
}

const DAY_MS = 86_400_000;
/**
 * Interval between two records that an acknowledged problem still exists. A problem that no process finds for a day
 * counts as resolved.
 */
const FOUND_INTERVAL_MS = 3_600_000;

/**
 * Returns the notice that a process without a mail server left to be mailed. Null: there is none, or it no longer applies,
 * because the check was acknowledged or began again meanwhile. Both clear `mailedAt`.
 */
function waitingOf(stored: CheckState | undefined, next: CheckState): Notice | null {
  const isCleared = stored?.mailedAt !== null && next.mailedAt === null && next.endedAt === null;
  return isCleared ? null : (stored?.unmailed ?? null);
}

/** Updates the state of a check in which this process found nothing, and deletes what is stored of a check that is over. */
async function endIfQuiet(tx: Transaction, state: CheckState, now: number): Promise<Step> {
  const step = whenQuiet(state, now);
  if (step.next === undefined) await deleteCheckRow(tx, { name: state.name, scope: state.of });
  else if (state.endedAt === null && step.next.endedAt !== null)
    await deleteEndedAcknowledgements(tx, state.name, state.of);
  return step;
}

/**
 * Records that an acknowledged result still exists, and deletes the acknowledgement of a result that has got worse. Each
 * result has an acknowledgement of its own. A check as a whole is acknowledged if all its results are (`sightingOf`).
 */
async function refreshAcknowledgement(
  tx: Transaction,
  known: readonly Acknowledgement[],
  of: string,
  result: CheckResult,
  now: number,
): Promise<void> {
  const acknowledgement = acknowledgementOf(known, of, result, now);
  if (acknowledgement !== undefined && now - acknowledgement.foundAt.getTime() >= FOUND_INTERVAL_MS)
    await updateFoundAcknowledgement(tx, { ...acknowledgement, scope: of }, new Date(now));
  const outgrown = outgrownBy(known, of, result);
  if (outgrown !== undefined) await deleteAcknowledgement(tx, { ...outgrown, scope: of });
}

/** Tells whether this process can mail. Otherwise it logs what would be mailed, and another process mails it. */
function canMail({ mailer, addresses }: CheckRunnerOptions): boolean {
  return mailer !== undefined && addresses.length > 0;
}

function noticesOf(steps: readonly Step[]): CheckNotice[] {
  return steps.flatMap(({ next, notice }) => (next && notice ? [{ state: next, notice }] : []));
}

/** Records the mails to the operator. @param mailedOnce the names of checks about which no reminders are sent */
async function recordMails(
  { ids, addresses, serviceName, clock, pageOf }: CheckRunnerOptions,
  tx: Transaction,
  notices: readonly CheckNotice[],
  mailedOnce: ReadonlySet<string>,
): Promise<void> {
  const mails = notices.flatMap(({ state, notice }) => {
    const isReminded = !mailedOnce.has(state.name);
    const { subject, text: body } = checkMail(state, notice, { serviceName, isReminded, page: pageOf?.(state) });
    return addresses.map((address) => ({ id: ids.next("mail"), address, subject, body }));
  });
  await insertOperatorMails(tx, new Date(clock()), mails);
}

function log(options: CheckRunnerOptions, state: CheckState, notice: Notice): void {
  const { logger } = options;
  const { name: check, of, severity, detail, fix } = state;
  const isMailed = canMail(options);
  if (notice === "ends") logger.info({ check, ...(of !== "" && { of }), isMailed }, "a check is well again");
  else logger.warn({ check, ...(of !== "" && { of }), severity, detail, fix, isMailed }, SENTENCES[notice]);
}

const SENTENCES = {
  begins: "a check needs attention",
  worsens: "a check has become a failure",
  lasts: "a check still needs attention",
};

/**
 * Combines the results of one check. Only the unacknowledged ones, if there are any, decide its severity and its texts.
 */
function sightingOf(
  { name, of }: Check,
  results: readonly CheckResult[],
  known: readonly Acknowledgement[],
  now: number,
): (Sighting & { readonly isAcknowledged: boolean }) | undefined {
  if (results.length === 0) return undefined;
  const unacknowledged = results.filter((result) => acknowledgementOf(known, of, result, now) === undefined);
  const isAcknowledged = unacknowledged.length === 0;
  const reported = isAcknowledged ? results : unacknowledged;
  const severity = reported.some(({ status }) => status === "failure") ? "failure" : "warning";
  const fixes = new Set(reported.flatMap(({ fix }) => (fix === undefined ? [] : [fix])));
  const fix = [...fixes].slice(0, MAX_NAMED).join(" ");
  return { name, of, severity, detail: described(reported), fix, results, isAcknowledged };
}

/** Maximum results of one check in a mail. `doctor` lists all. */
const MAX_NAMED = 3;

function described(results: readonly CheckResult[]): string {
  const more = results.length > MAX_NAMED ? `, and ${results.length - MAX_NAMED} more` : "";
  return `${results
    .slice(0, MAX_NAMED)
    .map(({ detail }) => detail)
    .join("; ")}${more}`;
}

function keyOf({ name, of }: Pick<Sighting, "name" | "of">): string {
  return JSON.stringify([name, of]);
}

/** Tells whether an outlet shows a check. */
function isShownIn(outlet: Outlet, check: CheckName): boolean {
  return outletsOf[checkScopes[check]].includes(outlet);
}

/**
 * Returns what `/readyz` lists in a response with 200: concerns that an operator should look into although requests are
 * answered. Taking this process out of service would not help.
 */
export function concernsOf(results: readonly CurrentResult[]): string[] {
  return results
    .filter(({ check, isAcknowledged }) => isShownIn("readyz", check) && !isAcknowledged)
    .map(({ check, detail, fix }) => `${check}: ${detail}${fix === undefined ? "" : `. ${fix}`}`);
}

/** The number of results of a check with one severity, or that are acknowledged. */
export interface CheckCount {
  readonly name: CheckName;
  readonly scope: string;
  readonly severity: "warning" | "failure" | "acknowledged";
  readonly n: number;
}

/** Counts the results of every check. A check without findings counts 0, so that alert rules and panels see each check. */
export function countResults(results: readonly CurrentResult[]): CheckCount[] {
  const severities = ["warning", "failure", "acknowledged"] as const;
  return (Object.keys(checkScopes) as CheckName[])
    .filter((name) => isShownIn("metric", name))
    .flatMap((name) =>
      severities.map((severity) => ({
        name,
        scope: checkScopes[name],
        severity,
        n: results.filter(
          ({ check, status, isAcknowledged }) =>
            check === name && (isAcknowledged ? "acknowledged" : status) === severity,
        ).length,
      })),
    );
}

/**
 * Returns the page of the dashboard on which an operator acknowledges a check. It changes nothing by itself: whoever opens
 * it signs in, sees what was found, and presses a button.
 */
export function acknowledgingPage(
  publicUrl: string | undefined,
  { name, of }: { readonly name: string; readonly of: string },
): string | undefined {
  if (publicUrl === undefined) return undefined;
  const isOfSystem = isCheckName(name) && checkScopes[name] === "system";
  const query = new URLSearchParams({ ...(isOfSystem && { system: of }), check: name, of });
  return `${publicUrl}/dashboard/operator/overview?${query.toString()}`;
}
