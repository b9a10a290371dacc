import { REQUEST_LOG_DAYS } from "@bikeshare/contract";
import type {
  AuditQuery,
  DaysQuery,
  MinutesQuery,
  RequestQuery,
  ShownAct,
  UsageOverTimeQuery,
} from "@bikeshare/contract/console";
import { cursorScope, readPageRequest, serviceError } from "@bikeshare/rules";
import { stepBounds } from "../city/history/summary.ts";
import { cursorPosition } from "../http/cursor.ts";
import { dateOf } from "../iso-instant.ts";
import { type ActRow, searchActs } from "../partners/audit/service.ts";
import {
  callersOf,
  type LogPosition,
  requestWithId,
  searchRequests,
  usageByDay,
  usageByMinute,
  usageOverTime,
  type UsageRange,
} from "../partners/request-log/service.ts";
import type { Queryable } from "../storage/db/database.ts";
import { type PositionCodec, timePosition } from "../storage/lists/page.ts";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { consoleCaller, partnerCaller } from "./authorize.ts";
import type { ConsoleContext, LongReads, LongRequest } from "./context.ts";
import { personWithEmail } from "./people/sign-in.ts";
import { subjectNames } from "./search/service.ts";

/* Routes of the request log, of usage counts, and of the audit log (whose entries are called acts). */

const DEFAULT_DAYS = 30;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Routes of a partner's requests and usage. */
export function partnerRequestRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["partnerRequests"] {
  return requestRoutes(context, longReads);
}

/** Routes of all requests and the usage of a system, for the operator. */
export function systemRequestRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["systemRequests"] {
  return {
    ...requestRoutes(context, longReads),
    callers: async ({ query, request }) => {
      const { systemId } = consoleCaller(request);
      const data = await callersOf(
        readingOf(context, longReads, request),
        systemId,
        [query.route],
        query.days ?? DEFAULT_DAYS,
      );
      return { status: 200 as const, body: { data } };
    },
  };
}

interface Call<Query> {
  readonly query: Query;
  readonly request: LongRequest;
}

/** Routes that partners and the operator have in common. On a partner's page, they return only the partner's requests. */
function requestRoutes(context: ConsoleContext, longReads: LongReads) {
  const { clock } = context;
  return {
    list: listRequests(context, longReads),
    get: async ({
      params: { id },
      request,
    }: {
      readonly params: { readonly id: string };
      readonly request: LongRequest;
    }) => {
      const { systemId, partnerId } = consoleCaller(request);
      const found = await requestWithId(readingOf(context, longReads, request), systemId, id);
      if (found === undefined || (partnerId !== null && found.partner_id !== partnerId))
        throw serviceError("not_found", "request", { days: REQUEST_LOG_DAYS });
      return { status: 200 as const, body: found };
    },
    overTime: requestsOverTime(context, longReads),
    minutes: async ({ query, request }: Call<MinutesQuery>) => {
      const since = dateOf(query.since) ?? new Date(clock() - HOUR_MS);
      // Without an end, the range ends in the future, so that it includes the present minute.
      const range = rangeOf(request, query.key_id, since, dateOf(query.until) ?? new Date(clock() + DAY_MS));
      const minutes = await usageByMinute(
        readingOf(context, longReads, request),
        consoleCaller(request).systemId,
        range,
      );
      return { status: 200 as const, body: { data: minutes } };
    },
    deprecated: async ({ query, request }: Call<Pick<DaysQuery, "days">>) => {
      const { systemId, partnerId } = consoleCaller(request);
      const { deprecatedRoutes } = context;
      const names = deprecatedRoutes.map(({ route }) => route);
      const days = query.days ?? DEFAULT_DAYS;
      const reading = readingOf(context, longReads, request);
      const calls = names.length === 0 ? [] : await callersOf(reading, systemId, names, days, partnerId);
      const data = deprecatedRoutes.flatMap(({ route, since, sunset, successor = null }) =>
        calls.filter((call) => call.route === route).map((call) => ({ ...call, since, sunset, successor })),
      );
      return { status: 200 as const, body: { data } };
    },
    days: async ({ query, request }: Call<DaysQuery>) => {
      const since = new Date(clock() - (query.days ?? DEFAULT_DAYS) * DAY_MS);
      // Ends in the future, so that it includes today.
      const range = rangeOf(request, query.key_id, since, new Date(clock() + DAY_MS));
      const days = await usageByDay(readingOf(context, longReads, request), consoleCaller(request).systemId, range);
      return { status: 200 as const, body: { data: days } };
    },
  };
}

/** Returns the context for counts and searches of requests, which may take long. */
function readingOf({ clock }: ConsoleContext, longReads: LongReads, request: LongRequest) {
  return { clock, db: longReads.databaseFor(request) };
}

function requestsOverTime(context: ConsoleContext, longReads: LongReads) {
  return async ({ query: { key_id: keyId, ...query }, request }: Call<UsageOverTimeQuery>) => {
    const { systemId, partnerId } = consoleCaller(request);
    const { timeZone, bounds } = await stepBounds(context, systemId, query);
    const owner = { partnerId, keyId: keyId ?? null };
    const usage = await usageOverTime(readingOf(context, longReads, request), systemId, owner, bounds);
    return { status: 200 as const, body: { time_zone: timeZone, ...usage } };
  };
}

function listRequests(context: ConsoleContext, longReads: LongReads) {
  return async ({ query: { cursor, limit, ...filters }, request }: Call<RequestQuery>) => {
    const { systemId, partnerId } = consoleCaller(request);
    const scope = cursorScope(systemId, "requests", { partner_id: partnerId, ...filters });
    const position = cursorPosition(context.cursorCipher, scope, logPosition);
    const asked = readPageRequest({ limit, cursor }, (text) => position.decode(text));
    const page = await searchRequests(readingOf(context, longReads, request), systemId, {
      partnerId: partnerId ?? undefined,
      keyId: filters.key_id,
      ...statusRange(filters.status),
      error: filters.error,
      method: filters.method,
      route: filters.route,
      since: dateOf(filters.since),
      until: dateOf(filters.until),
      after: asked.kind === "cursor" ? asked.after : undefined,
      limit: asked.limit,
    });
    const { requests, next, searchedTo } = page;
    return {
      status: 200 as const,
      body: {
        data: requests,
        ...(next && { next_cursor: position.encode(next) }),
        ...(searchedTo && { searched_to: searchedTo }),
      },
    };
  };
}

function rangeOf(request: LongRequest, keyId: string | undefined, since: Date, until: Date): UsageRange {
  return { partnerId: consoleCaller(request).partnerId, keyId: keyId ?? null, since, until };
}

/** The position of a request in the log. */
const logPosition: PositionCodec<LogPosition> = {
  encode: ({ day, id }) => `${day} ${id}`,
  decode(text) {
    const [day, id] = text.split(" ");
    return day === undefined || id === undefined ? undefined : { day, id };
  },
};

/** Returns the range of statuses of a filter: `404`, `4xx`, or `errors` for all from 400. */
function statusRange(filter: string | undefined): { readonly statusFrom?: number; readonly statusTo?: number } {
  if (filter === undefined) return {};
  if (filter === "errors") return { statusFrom: 400 };
  const first = Number(filter.replace("xx", "00"));
  return { statusFrom: first, statusTo: filter.endsWith("xx") ? first + 99 : first };
}

/** Routes of a partner's audit log. */
export function partnerAuditRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["partnerAudit"] {
  return {
    list: async ({ query, request }) => {
      const { partnerId } = partnerCaller(request);
      return listActs(
        { ...context, db: longReads.databaseFor(request) },
        request,
        { ...query, partner_id: partnerId },
        withoutAccount,
      );
    },
  };
}

/** Routes of a system's audit log, for the operator. */
export function systemAuditRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["systemAudit"] {
  return {
    list: async ({ query, request }) => {
      const actor = await actorOf(context, query.actor);
      return listActs({ ...context, db: longReads.databaseFor(request) }, request, { ...query, actor }, (act) => act);
    },
  };
}

/** Returns a page of the audit log. @param view changes an entry before it is shown */
async function listActs(
  context: Pick<ConsoleContext, "clock" | "cursorCipher"> & { readonly db: Queryable },
  request: LongRequest,
  { cursor, limit, ...filters }: AuditQuery,
  view: (act: ActRow) => ActRow,
) {
  const { systemId } = consoleCaller(request);
  const position = cursorPosition(context.cursorCipher, cursorScope(systemId, "audit", filters), timePosition);
  const asked = readPageRequest({ limit, cursor }, (text) => position.decode(text));
  const { acts, next, searchedTo } = await searchActs(context, systemId, {
    partnerId: filters.partner_id,
    actor: filters.actor,
    action: filters.action,
    subject: filters.subject,
    since: dateOf(filters.since),
    until: dateOf(filters.until),
    after: asked.kind === "cursor" ? asked.after : undefined,
    limit: asked.limit,
  });
  return {
    status: 200 as const,
    body: {
      data: await shownActs(context.db, systemId, acts.map(view)),
      ...(next && { next_cursor: position.encode(next) }),
      ...(searchedTo && { searched_to: searchedTo }),
    },
  };
}

/** Returns the actor to search for. Replaces a mail address by its person's id, because the log has ids. */
async function actorOf(context: ConsoleContext, actor: string | undefined): Promise<string | undefined> {
  if (actor?.includes("@") !== true) return actor;
  const person = await personWithEmail(context, actor);
  return person === undefined ? actor : `person:${person.id}`;
}

/** Removes the operator's account on a machine from a command line's actor, because partners must not see it. */
function withoutAccount(act: ActRow): ActRow {
  return { ...act, actor: act.actor.replace(/^cli:.*/s, "cli") };
}

/** Returns entries of the audit log as pages show them. */
export async function shownActs(db: Queryable, systemId: string, acts: readonly ActRow[]): Promise<Served<ShownAct>[]> {
  const names = await subjectNames(db, systemId, acts);
  return acts.map(({ detail, ...act }, index) => {
    const isObject = typeof detail === "object" && detail !== null;
    return { ...act, subject_name: names[index] ?? null, detail: isObject ? { ...detail } : {} };
  });
}
