import { MAX_COUNTED_DELIVERIES } from "@bikeshare/contract";
import { longRidesOf } from "../../city/fleet/finish-rides.ts";
import { systemsOf } from "../../city/systems/service.ts";
import { findWaitingSchedules } from "../../feeds/exports/service.ts";
import { counted } from "../../feeds/gbfs-check/consumers/consumer.ts";
import { UNNAMED_SYSTEM } from "../../feeds/gbfs-check/rules/condition-rules.ts";
import { publishedId } from "../../feeds/gbfs-out/documents.ts";
import { publishedFacts } from "../../feeds/gbfs-out/service.ts";
import { sourceStates } from "../../feeds/gbfs/source-state.ts";
import { runningImportsOf } from "../../feeds/imports/service.ts";
import { countApiProcesses } from "../../http/rate-limits/service.ts";
import { timeOfId } from "../../ids.ts";
import { utcMinute } from "../../iso-instant.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { failingWorkOf } from "../../storage/set-aside/service.ts";
import { countLiveWorkers, countSetAsideDeliveries, oldestDueAt } from "../../webhooks/backlog.ts";
import { isRemoved, isStranded } from "../../webhooks/endpoints/endpoint-context.ts";
import { listShownEndpoints } from "../../webhooks/endpoints/endpoint-view.ts";
import {
  type CheckLink,
  type CheckName,
  type CheckResult,
  type checkScopes,
  failure,
  ok,
  thresholds,
  warning,
} from "./check.ts";
import { checkSource } from "./feed-sources.rules.ts";
import { findWaitingEvent } from "./queries.ts";

/* Checks of a system. The operator must fix what they find. */

/** The names of the checks with a scope. */
type NamesOf<Scope> = { [Name in CheckName]: (typeof checkScopes)[Name] extends Scope ? Name : never }[CheckName];

export interface SystemCheckContext {
  readonly db: Queryable;
  readonly clock: () => number;
  /** Milliseconds after which a ride counts as too long. */
  readonly longRideAfterMs: number;
}

/** Runs one check; without a finding, the result says that all is well, or there is none. */
type Find = (context: SystemCheckContext, systemId: string) => Promise<readonly CheckResult[]>;

/** The checks of a system. */
export const systemCheckFinders: Readonly<Record<NamesOf<"system">, Find>> = {
  workers: checkWorkers,
  events: checkEvents,
  "late webhooks": checkLateWebhooks,
  "held webhooks": checkHeldWebhooks,
  "set aside": checkSetAside,
  imports: checkImports,
  "long rides": checkLongRides,
  feeds: checkFeeds,
  exports: checkExports,
  planners: checkPlanners,
};

/** Returns the command line program as it is typed for a system. It needs the system's name only where there are several. */
async function cliOf(db: Queryable, systemId: string): Promise<string> {
  return (await systemsOf(db)).length > 1 ? `bikeshare --system ${systemId}` : "bikeshare";
}

/** Tells whether no process numbers events and sends webhooks. Each worker registers for every system. */
export function lacksWorker(workers: number): boolean {
  return workers === 0;
}

async function checkWorkers({ db }: SystemCheckContext, systemId: string): Promise<readonly CheckResult[]> {
  // A deployment that is stopped as a whole lacks no worker.
  if ((await countApiProcesses(db)) === 0) return [];
  if (!lacksWorker(await countLiveWorkers(db, systemId))) return [ok("workers", `${systemId} has one`)];
  return [
    failure(
      "workers",
      `no worker runs for ${systemId}: no events are listed and no webhooks are sent`,
      "Start `serve --role worker`. If one runs, its log says what stops it.",
    ),
  ];
}

async function checkEvents({ db, clock }: SystemCheckContext, systemId: string): Promise<readonly CheckResult[]> {
  const oldest = await findWaitingEvent(db, systemId);
  // Uses the time in the event's id, because `occurred_at` may be long past when an event is reported.
  const recordedAt = oldest === null ? undefined : timeOfId(oldest);
  const waitMs = recordedAt === undefined ? 0 : clock() - recordedAt;
  if (waitMs <= thresholds.eventWaitMs) return [ok("events", "none waits for its number")];
  const fix = "Start `serve --role worker`, or look at the log of the one that runs.";
  return [
    failure(
      "events",
      `the oldest event of ${systemId} waits for its number since ${Math.round(waitMs / 1_000)} s`,
      fix,
    ),
  ];
}

async function checkLateWebhooks({ db, clock }: SystemCheckContext, systemId: string): Promise<readonly CheckResult[]> {
  const now = clock();
  const due = await oldestDueAt(db, systemId, new Date(now));
  if (due === null || now - due.getTime() <= thresholds.dueMs)
    return [ok("late webhooks", "none has been due for long")];
  const minutes = Math.round((now - due.getTime()) / 60_000);
  const fix = `\`${await cliOf(db, systemId)} webhooks list\` says where they wait; start another worker, or pause an endpoint that hangs.`;
  return [warning("late webhooks", `a webhook of ${systemId} has been due for ${minutes} min`, fix, { at: due })];
}

/** Checks for deliveries that are held at a resumed endpoint: nobody sends them until somebody decides. */
async function checkHeldWebhooks(context: SystemCheckContext, systemId: string): Promise<readonly CheckResult[]> {
  const { endpoints } = await listShownEndpoints(context, systemId);
  const stranded = Map.groupBy(endpoints.filter(isStranded), (each) => each.partner_id);
  const cli = stranded.size === 0 ? "" : await cliOf(context.db, systemId);
  const found = [...stranded].map(([partner, those]) => {
    const held = those.reduce((sum, each) => sum + each.held, 0);
    // The count of an endpoint's held deliveries stops at the maximum.
    const isExact = those.every((each) => each.held < MAX_COUNTED_DELIVERIES);
    const hasOneEndpoint = endpoints.filter((each) => each.partner_id === partner && !isRemoved(each)).length === 1;
    // A partner's only endpoint need not be named.
    const named = hasOneEndpoint ? [] : those;
    const names = named.map(({ name }) => ` “${name}”`).join(" and");
    const endpointText = named.length > 1 ? `endpoints${names} are` : `endpoint${names} is`;
    const send = `${cli} webhooks send-held --partner ${partner}`;
    const commands = hasOneEndpoint ? [send] : those.map(({ id }) => `${send} --endpoint ${id}`);
    return warning(
      "held webhooks",
      `${held}${isExact ? "" : " or more"} deliveries of ${systemId} are held for ${partner}, whose ${endpointText} not paused`,
      `\`${commands.join(" && ")}\` sends them, \`webhooks drop-held\` gives them up.`,
      {
        subject: partner,
        count: held,
        link: { page: "webhook", query: named.length === 1 ? { endpoint: named[0]?.id ?? "" } : {} },
      },
    );
  });
  return found.length === 0 ? [ok("held webhooks", "none is held but at paused endpoints")] : found;
}

async function checkSetAside({ db }: SystemCheckContext, systemId: string): Promise<readonly CheckResult[]> {
  const name = "set aside";
  const deliveries = await countSetAsideDeliveries(db, systemId);
  const { setAside, failing } = await failingWorkOf(db, systemId);
  if (deliveries + setAside + failing === 0) return [ok(name, "nothing is")];
  const cli = await cliOf(db, systemId);
  const found: CheckResult[] = [];
  if (deliveries > 0) {
    const detail = `${deliveries} webhooks of ${systemId} are not sent any more, because each ended three processes in a row, or PostgreSQL rejected its result`;
    const fix = `The log names them: report it, and once it is mended send them by \`${cli} webhooks redeliver <id>\`.`;
    found.push(failure(name, detail, fix, { subject: "webhooks", count: deliveries }));
  }
  const fix = `\`${cli} set-aside list\` says what and why; \`set-aside release\` tries it again.`;
  if (setAside > 0) {
    const detail = `${setAside} units of background work of ${systemId} ended three processes each, and are not tried any more`;
    found.push(failure(name, detail, fix, { subject: "work", count: setAside }));
  }
  if (failing > 0) {
    const detail = `${failing} units of background work of ${systemId} fail at each try`;
    found.push(warning(name, detail, fix, { subject: "failing work", count: failing }));
  }
  return found;
}

async function checkImports({ db }: SystemCheckContext, systemId: string): Promise<readonly CheckResult[]> {
  const running = await runningImportsOf(db, systemId);
  const idle = running.filter(({ idle_seconds: seconds }) => seconds * 1_000 > thresholds.importIdleMs);
  if (idle.length === 0) return [ok("imports", "each that runs makes progress")];
  const fix =
    "Look at what it prints, then end its process and begin it again: what it has stored stays, and is left out.";
  return idle.map(({ kind, idle_seconds: seconds }) =>
    warning(
      "imports",
      `an import (${kind}) of ${systemId} has made no progress for ${Math.round(seconds / 60)} min`,
      fix,
      { subject: kind },
    ),
  );
}

/** Checks for rides that nobody ended: their bikes are hidden from all readers. */
async function checkLongRides(
  { db, clock, longRideAfterMs }: SystemCheckContext,
  systemId: string,
): Promise<readonly CheckResult[]> {
  const hours = Math.round(longRideAfterMs / 3_600_000);
  const startedBefore = new Date(clock() - longRideAfterMs);
  const { n, oldest } = await longRidesOf(db, systemId, startedBefore);
  if (oldest === undefined) return [ok("long rides", `none is under way for longer than ${hours} h`)];
  const isOne = n === 1;
  const rides = `${n} ${isOne ? "ride" : "rides"} of ${systemId} ${isOne ? "is" : "are"}`;
  const since = `the oldest (${oldest.id}) since ${utcMinute(oldest.started_at)}`;
  const end = `${await cliOf(db, systemId)} rides end`;
  return [
    warning(
      "long rides",
      `${rides} under way for longer than ${hours} h, ${since}: ${isOne ? "its bike is" : "their bikes are"} hidden`,
      `\`${end} <id>\` ends one whose end was never reported, \`${end} --older-than ${hours}h --yes\` all of them.`,
      {
        count: n,
        at: oldest.started_at,
        link: { page: "rides", query: { status: "started", started_before: startedBefore.toISOString() } },
      },
    ),
  ];
}

async function checkFeeds({ db, clock }: SystemCheckContext, systemId: string): Promise<readonly CheckResult[]> {
  const found = (await sourceStates(db, systemId)).flatMap((source) => checkSource(source, clock()));
  return found.length === 0 ? [ok("feeds", "none that is followed is too old or stale")] : found;
}

/** Checks for schedules that cannot request their exports. One that waits until the next month is over skips its month. */
async function checkExports(context: SystemCheckContext, systemId: string): Promise<readonly CheckResult[]> {
  const waiting = await findWaitingSchedules(context, systemId);
  if (waiting === undefined) return [ok("exports", "no schedule waits")];
  const { schedules, month, open } = waiting;
  return [
    warning(
      "exports",
      `${counted(schedules, "schedule")} of ${systemId} cannot export ${month} yet: ${open} exports wait or are being made`,
      "Look at the page Exports: delete exports that nobody needs. If none makes progress, look at the log of the workers.",
      { count: schedules },
    ),
  ];
}

const FEED_QUALITY_LINK: CheckLink = { page: "feed-quality", query: {} };

/**
 * Checks what trip planners, such as lamassu, lose of a system's published feeds. Only counts, because reading the whole
 * feeds at each run would cost too much. `gbfs check own` and the page "Feed quality" read the whole feeds.
 */
async function checkPlanners({ db }: { readonly db: Queryable }, systemId: string): Promise<readonly CheckResult[]> {
  const name = "planners";
  const facts = await publishedFacts(db, systemId);
  if (facts === undefined || facts.stations + facts.vehicles === 0) return [ok(name, "there is nothing to show yet")];
  const { stations, vehicles } = facts;
  const found: CheckResult[] = [];
  if (facts.plans === 0) {
    const things = stations > 0 ? counted(stations, "station") : counted(vehicles, "vehicle");
    const detail = `lamassu shows 0 of ${things} of ${systemId}: no pricing plans`;
    const fix = `\`${await cliOf(db, systemId)} pricing-plans set\` publishes a plan; the page Feed quality shows what else is lost.`;
    found.push(warning(name, detail, fix, { subject: "pricing plans", link: FEED_QUALITY_LINK }));
  }
  if (publishedId(facts.system) === UNNAMED_SYSTEM) {
    const detail = `the feeds call the system \`${UNNAMED_SYSTEM}\`, as others do: planners store stations by this id`;
    const fix = `\`${await cliOf(db, systemId)} systems set --published-id <id>\` gives it one that nobody else has.`;
    found.push(warning(name, detail, fix, { subject: "system id", link: FEED_QUALITY_LINK }));
  }
  return found.length === 0 ? [ok(name, "the planners that are known show everything")] : found;
}
