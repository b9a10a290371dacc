import { type FactChanges, type FactKind, publishedGbfsVersions } from "@bikeshare/contract";
import type { FeedReport, FeedSource, FollowedFeed, ImportDetail, ShownUpload } from "@bikeshare/contract/console";
import { cursorScope, readPageRequest, ServiceError } from "@bikeshare/rules";
import {
  describe,
  type Described,
  describedAll,
  describedOne,
  describedTypesEver,
  descriptionsState,
  requireRemoval,
  timeZoneOfSystem,
  versionOf,
} from "../city/descriptions/service.ts";
import { systemsOf } from "../city/systems/service.ts";
import { commandError } from "../command-errors.ts";
import { checkFeedApart } from "../feeds/gbfs-check/check-apart.ts";
import { KeptChecks } from "../feeds/gbfs-check/kept-checks.ts";
import { readOwnFeed } from "../feeds/gbfs-check/own-feed.ts";
import { readAddress } from "../feeds/gbfs-check/read-address.ts";
import {
  type SourceContents,
  sourceContents,
  type SourceState,
  sourceStates,
  type StoredFeedHealth,
} from "../feeds/gbfs/source-state.ts";
import { findImport, importPage, importReport, type ImportRow, reportEntries } from "../feeds/imports/service.ts";
import { requireUndoable } from "../feeds/imports/undo.ts";
import { isAddress, PublicHosts } from "../feeds/outgoing.ts";
import {
  addUploadPart,
  beginUpload,
  discardUpload,
  newestUpload,
  startUpload,
  type StoredUpload,
  tryUpload,
} from "../feeds/uploads/service.ts";
import { feedAdvice, feedState, sourceCondition } from "../health/checks/feed-sources.rules.ts";
import { cursorPosition } from "../http/cursor.ts";
import { searchActs } from "../partners/audit/service.ts";
import type { Queryable } from "../storage/db/database.ts";
import { type PositionCodec, timePosition } from "../storage/lists/page.ts";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";
import type { ConsoleContext, LongReads } from "./context.ts";
import { shownActs } from "./log-routes.ts";

/*
 * Routes of the operator's pages about data that come in or are published: sources and their feeds, imports, the quality of
 * feeds, descriptions (what GBFS publishes of a system, a station and so on), and uploads of trip files.
 */

/** Routes with which the operator sees the sources of a system's stations and bikes. */
export function feedRoutes({ db, clock }: ConsoleContext, longReads: LongReads): ConsoleRoutes["feeds"] {
  return {
    list: async ({ request }) => {
      const { systemId } = consoleCaller(request);
      const [states, contents] = await longReads.hold(request, () =>
        Promise.all([sourceStates(db, systemId), sourceContents(db, systemId)]),
      );
      const names = [...new Set([...states, ...contents].map(({ source }) => source))];
      const now = clock();
      const data = names.map((name) =>
        shown(
          name,
          states.find(({ source }) => source === name),
          contents.find(({ source }) => source === name),
          now,
        ),
      );
      return { status: 200, body: { data } };
    },
  };
}

/**
 * Returns a source as the page shows it.
 * @param state undefined: no feed belongs to it
 * @param contents undefined: it has brought no stations or bikes
 */
function shown(
  source: string,
  state: SourceState | undefined,
  contents: SourceContents | undefined,
  now: number,
): Served<FeedSource> {
  const counts = { planned: 0, online: 0, offline: 0, removed: 0 };
  for (const { status, n } of contents?.stations ?? []) counts[status] = n;
  return {
    source,
    ...followed(state, now),
    stations: counts,
    bikes: contents?.bikes ?? 0,
    missing: (contents?.missing ?? []).map((station) => ({ ...station, last_listed_at: station.status_as_of })),
  };
}

/** The fields of a source that follow from its feed. */
type Followed = Omit<Served<FeedSource>, "source" | "stations" | "bikes" | "missing">;

/** The state of a source that no feed belongs to. */
const noFeed: Followed = {
  state: "no_feed",
  text: "Trip files or the operator's interface; there is no feed.",
  action: null,
  since: null,
  location: null,
  interval_seconds: null,
  polled_at: null,
  published_id: null,
  information_at: null,
  status_at: null,
  vehicles_at: null,
  feeds: [],
};

function followed(state: SourceState | undefined, now: number): Followed {
  if (state === undefined) return noFeed;
  return {
    ...state,
    ...sourceCondition(state, now),
    interval_seconds: state.interval_ms === null ? null : state.interval_ms / 1_000,
    feeds: state.feeds.map((feed) => shownFeed(feed, state, now)),
  };
}

function shownFeed(health: StoredFeedHealth, source: SourceState, now: number): Served<FollowedFeed> {
  const message = health.failing_since === null ? null : health.message;
  const advice = message === null ? null : feedAdvice(message);
  return { ...health, state: feedState(health, source, now), message, advice };
}

type Routes = ConsoleRoutes["imports"];

/** Routes with which the operator reads a system's imports. */
export function importRoutes(context: ConsoleContext): Routes {
  const { db, cursorCipher } = context;
  return {
    list: async ({ query, request }) => {
      const { systemId } = consoleCaller(request);
      const position = cursorPosition(cursorCipher, cursorScope(systemId, "imports", {}), timePosition);
      const asked = readPageRequest(query, (text) => position.decode(text));
      const after = asked.kind === "cursor" ? asked.after : undefined;
      const { imports, next } = await importPage(db, systemId, after, asked.limit);
      return {
        status: 200,
        body: { data: imports, ...(next && { next_cursor: position.encode(next) }) },
      };
    },
    get: async ({ params: { id }, request }) => ({
      status: 200,
      body: await detailOf(context, consoleCaller(request).systemId, await requireImport(db, request, id)),
    }),
    report: async ({ params: { id }, query: { limit, cursor, reason }, request }) => {
      const { systemId } = consoleCaller(request);
      // Only for its error: an unknown import must not have an empty report.
      await requireImport(db, request, id);
      const scope = cursorScope(systemId, `import-report ${id}`, { reason });
      const position = cursorPosition(cursorCipher, scope, numberPosition);
      const asked = readPageRequest({ limit, cursor }, (text) => position.decode(text));
      const after = asked.kind === "cursor" ? asked.after : 0;
      const found = await reportEntries(db, systemId, id, { after, reason, limit: asked.limit + 1 });
      const data = found.slice(0, asked.limit).map(({ number, entry }) => ({ number, ...entry }));
      const last = found.length > asked.limit ? data.at(-1) : undefined;
      return { status: 200, body: { data, ...(last && { next_cursor: position.encode(last.number) }) } };
    },
    undo: async ({ params: { id }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      // False: the undo still counts rows to decide whether it is possible. It goes on in the background.
      const isDecided = await context.undos.start(actor, systemId, id);
      return { status: 200, body: { is_decided: isDecided, import: await requireImport(db, request, id) } };
    },
  };
}

/** Returns an import. @throws ServiceError when there is no such import */
async function requireImport(db: Queryable, request: ConsoleRequest, id: string): Promise<ImportRow> {
  const row = await findImport(db, consoleCaller(request).systemId, id);
  if (row === undefined) throw commandError("not_found", "import", { id });
  return row;
}

/** Maximum audit entries shown for one import. It is made once, and undone in a few attempts. */
const SHOWN_ACTS = 20;

async function detailOf(context: ConsoleContext, systemId: string, row: ImportRow): Promise<Served<ImportDetail>> {
  const { acts } = await searchActs(context, systemId, { subject: row.id, limit: SHOWN_ACTS });
  const report = await importReport(context.db, systemId, row.id);
  const reasons = Object.entries(report?.reasons ?? {}).map(([reason, count]) => ({ reason, count }));
  const { from, timeZone } = sourceOf(row);
  return {
    import: row,
    from,
    time_zone: timeZone,
    acts: await shownActs(context.db, systemId, acts),
    obstacle: await obstacleOf(context, systemId, row),
    report:
      report === undefined
        ? null
        : {
            path: row.report,
            reasons: reasons.toSorted((a, b) => b.count - a.count),
            entries: reasons.reduce((sum, { count }) => sum + count, 0),
            kept: report.kept,
          },
  };
}

/** Returns why an import cannot be undone; null: it can be, or is being undone. */
async function obstacleOf(
  context: Pick<ConsoleContext, "db" | "clock">,
  systemId: string,
  row: ImportRow,
): Promise<string | null> {
  if (row.status === "undoing") return null;
  try {
    await requireUndoable(context, systemId, row);
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return error.httpMessage;
    throw error;
  }
}

/** Returns the files or the address that an import read, and the time zone by which it read them, from its record. */
function sourceOf({ detail }: ImportRow): { readonly from: string[]; readonly timeZone: string | null } {
  const { files, location, time_zone: zone } = (detail ?? {}) as Readonly<Record<string, unknown>>;
  const from: unknown[] = Array.isArray(files) ? files : [location];
  return { from: from.filter((each) => typeof each === "string"), timeZone: typeof zone === "string" ? zone : null };
}

/** The position of an entry in its report. */
const numberPosition: PositionCodec<number> = {
  encode: String,
  decode: (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined),
};

/**
 * The time to read a feed. With the check itself, 20 s at most, it is less than the 65 s for which the proxies of deploy/
 * wait for an answer.
 */
const READ_TIMEOUT_MS = 40_000;

/** Routes with which the operator checks how trip planners can use the system's own feeds and the feeds that it follows. */
export function feedQualityRoutes(context: ConsoleContext): ConsoleRoutes["feedQuality"] {
  const { db, clock } = context;
  const checks = new KeptChecks(clock);
  const publicHosts = new PublicHosts();
  // `checkFeedApart` checks on a thread of its own, so that other requests are answered meanwhile.
  const checkOwn = async (systemId: string): Promise<FeedReport> =>
    checkFeedApart(await readOwnFeed(context, systemId), { now: clock() });
  const reading = { monotonic: () => performance.now(), publicHosts, timeoutMs: READ_TIMEOUT_MS };
  const checkAddress = async (address: string): Promise<FeedReport> =>
    checkFeedApart(await readAddress(new URL(address), reading), { now: clock() });
  return {
    check: async ({ query: { source }, request }) => {
      const { systemId } = consoleCaller(request);
      const sources = (await sourceStates(db, systemId)).flatMap(({ source: name, location }) =>
        location !== null && isAddress(location) ? [{ name, location }] : [],
      );
      const asked = sources.find(({ name }) => name === source);
      if (source !== undefined && asked === undefined) throw commandError("not_found", "feedSource", { id: source });
      // The system's own feed has the empty name among the kept results. It is checked anew when the operator has changed a
      // description.
      const outcome =
        asked === undefined
          ? await checks.get(systemId, "", await descriptionsState(db, systemId), () => checkOwn(systemId))
          : await checks.get(systemId, asked.name, asked.location, () => checkAddress(asked.location));
      return { status: 200, body: { sources: sources.map(({ name }) => name), ...outcome } };
    },
  };
}

/** Represents, in a path, the empty id of the system and of its zones. */
const NO_ID = "-";

/** Routes with which the operator's people set what GBFS publishes. */
export function descriptionRoutes(context: ConsoleContext): ConsoleRoutes["descriptions"] {
  const { db } = context;
  const acting = (request: ConsoleRequest) => ({ ...context, actor: consoleCaller(request).actor });
  const systemOf = (request: ConsoleRequest) => consoleCaller(request).systemId;
  const answer = (described: Described) => ({
    status: 200 as const,
    body: { ...described, from: { ...described.from }, version: versionOf(described) },
  });
  const idOf = (id: string) => (id === NO_ID ? "" : id);
  return {
    feeds: async ({ request }) => ({ status: 200, body: { data: await feedsOf(context, systemOf(request)) } }),
    list: async ({ params: { kind }, request }) => {
      const systemId = systemOf(request);
      // Vehicle types also have those that nobody has described, but that a bike, a station or a ride names.
      const all: readonly Described[] =
        kind === "vehicle_type"
          ? await describedTypesEver(db, systemId)
          : await describedAll<FactKind>(db, systemId, kind);
      return { status: 200, body: { data: all.map((each) => answer(each).body) } };
    },
    get: async ({ params: { kind, id }, request }) =>
      answer(await describedOne<FactKind>(db, systemOf(request), kind, idOf(id))),
    set: async ({ params: { kind, id }, query: { seen }, body, request }) => {
      // `seen` is the version of the description that the page has shown. `describe` rejects the changes if the
      // description has another version by now. It also validates them.
      const changes = body as FactChanges<FactKind>;
      return answer(await describe<FactKind>(acting(request), systemOf(request), kind, idOf(id), changes, seen));
    },
    remove: async ({ params: { kind, id }, query: { seen }, request }) => {
      await requireRemoval(acting(request), systemOf(request), kind, idOf(id), seen);
      return { status: 200, body: {} };
    },
  };
}

/** Returns the addresses of the system's published feeds, one for each version. Those of the first system have no id. */
async function feedsOf({ db, baseUrl }: ConsoleContext, systemId: string) {
  const [first] = await systemsOf(db);
  const path = first?.system_id === systemId ? "gbfs" : `gbfs/${encodeURIComponent(systemId)}`;
  return publishedGbfsVersions.map((version) => ({ version, url: `${baseUrl()}/${path}/${version}/gbfs.json` }));
}

/** Routes with which the operator imports trip files in the browser. */
export function uploadRoutes(context: ConsoleContext): ConsoleRoutes["uploads"] {
  const { db } = context;
  const acting = (request: ConsoleRequest) => ({ ...context, actor: consoleCaller(request).actor });
  const systemOf = (request: ConsoleRequest) => consoleCaller(request).systemId;
  // Only `get` returns the name: pages read the upload again after each change.
  const answer = async (upload: Promise<StoredUpload>): Promise<{ status: 200; body: Served<ShownUpload> }> => ({
    status: 200,
    body: { ...(await upload), asked_by_name: null },
  });
  return {
    get: async ({ request }) => {
      const systemId = systemOf(request);
      const upload = (await newestUpload(db, systemId)) ?? null;
      return { status: 200, body: { upload, time_zone: await timeZoneOfSystem(db, systemId) } };
    },
    begin: ({ body, request }) => answer(beginUpload(acting(request), systemOf(request), body)),
    send: ({ params: { id }, query, body, request }) =>
      answer(
        addUploadPart(acting(request), systemOf(request), id, {
          start: Number(query.start),
          content: body,
          isLast: query.is_last === "true",
        }),
      ),
    try: ({ params: { id }, body, request }) =>
      answer(tryUpload(acting(request), systemOf(request), id, body.time_zone)),
    start: ({ params: { id }, request }) => answer(startUpload(acting(request), systemOf(request), id)),
    discard: async ({ params: { id }, request }) => {
      await discardUpload(acting(request), systemOf(request), id);
      return { status: 200, body: {} };
    },
  };
}
