import { EVENT_RETENTION_DAYS, MAX_COUNTED_DELIVERIES, scopeOfEvent, type Threshold } from "@bikeshare/contract";
import { keyStatus } from "@bikeshare/rules";
import { commandError } from "../../command-errors.ts";
import { keysOf } from "../../partners/keys/service.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { dayOf, oldestKept } from "../../storage/partitions/partition.rules.ts";
import { countWorkers } from "../queue/lane-queries.ts";
import { listEndpointLogs } from "../queue/log-size-queries.ts";
import { listLatestReplays, type ReplayRow } from "../queue/replay-queries.ts";
import {
  describeShownStatus,
  describeStatus,
  chooseEndpoint,
  type EndpointScope,
  expandEvents,
  isRemoved,
  type PartnerScope,
  requireEndpointOrRemoved,
} from "./endpoint-context.ts";
import { type PlaceColumns, type Places, placesOf } from "./endpoint-places.ts";
import {
  countEndpoint,
  type EndpointCounts,
  type EndpointRow,
  listEndpointsOf,
  listEndpointSummaries,
  type SummaryRow,
} from "./endpoint-queries.ts";
import { thresholdsOf } from "./endpoint-thresholds.ts";
import { listActiveSecrets } from "./secret-queries.ts";

/* The endpoints as pages and commands show them, with counts of their deliveries. */

/** Columns that a view omits or changes. `tag` ends the ids of the endpoint's deliveries; `slot` numbers it from 1 to 10. */
type HiddenColumns = "tag" | "slot" | "url" | keyof PlaceColumns;

/** An endpoint for its partner, without secrets. */
export interface EndpointView extends Omit<EndpointRow, HiddenColumns>, EndpointCounts {
  /** Null: it was removed. */
  readonly url: string | null;
  /** The places whose events it receives; null: everywhere. */
  readonly places: Places | null;
  readonly thresholds: readonly Threshold[];
  /** The status in words. */
  readonly status_text: string;
  /** Secrets that sign now, the newest first; `expires_at` null: until it is rotated. */
  readonly secrets: readonly { readonly id: string; readonly expires_at: Date | null }[];
  /** Its events whose resource no API key of the partner may read. */
  readonly unreadable_events: readonly string[];
  /** Processes that are sending the system's webhooks. */
  readonly workers: number;
  /** Latest first. */
  readonly replays: readonly ReplayRow[];
}

/** Maximum replays shown with an endpoint. */
const SHOWN_REPLAYS = 5;

/**
 * Returns one of a partner's endpoints, also a removed one, with its counts.
 * @throws ServiceError when there is none, or the partner has several and none is named
 */
export async function showEndpoint(
  context: { readonly db: Queryable; readonly clock: () => number },
  scope: EndpointScope,
): Promise<EndpointView> {
  return viewOf(context, scope, await requireEndpointOrRemoved(context.db, scope));
}

/**
 * Returns one of a partner's endpoints for a page of the dashboard. Counts of deliveries end at MAX_COUNTED_DELIVERIES.
 * @returns undefined when the partner has no endpoint, or it was removed
 * @throws ServiceError when no endpoint has the name, or the partner has several and none is named
 */
export async function findShownEndpoint(
  context: { readonly db: Queryable; readonly clock: () => number },
  scope: EndpointScope,
): Promise<EndpointView | undefined> {
  const row = chooseEndpoint(await listEndpointsOf(context.db, scope.systemId, scope.partnerId), scope);
  if (row === undefined || isRemoved(row)) return undefined;
  return shownView(context, scope, row);
}

/** Returns all of a partner's endpoints for a page, without removed ones. */
export async function findShownEndpoints(
  context: { readonly db: Queryable; readonly clock: () => number },
  scope: PartnerScope,
): Promise<EndpointView[]> {
  const rows = await listEndpointsOf(context.db, scope.systemId, scope.partnerId);
  return Promise.all(rows.filter((row) => !isRemoved(row)).map((row) => shownView(context, scope, row)));
}

/** Returns an endpoint for a page: with limited counts, and without the time of a pause in `status_text`. */
async function shownView(
  context: { readonly db: Queryable; readonly clock: () => number },
  scope: PartnerScope,
  row: EndpointRow,
): Promise<EndpointView> {
  return { ...(await viewOf(context, scope, row, MAX_COUNTED_DELIVERIES)), status_text: describeShownStatus(row) };
}

/** @param most maximum of each count of deliveries; absent: unlimited */
async function viewOf(
  context: { readonly db: Queryable; readonly clock: () => number },
  scope: PartnerScope,
  row: EndpointRow,
  most?: number,
): Promise<EndpointView> {
  const { db, clock } = context;
  const { systemId } = scope;
  const secrets = await listActiveSecrets(db, systemId, row.id, new Date(clock()));
  return {
    ...shownColumns(row),
    thresholds: (await thresholdsOf(db, systemId, [row.id])).get(row.id) ?? [],
    ...(await countEndpoint(db, systemId, row.id, most)),
    status_text: describeStatus(row),
    secrets: secrets.map(({ id, expires_at: expiresAt }) => ({ id, expires_at: expiresAt })),
    unreadable_events: await unreadableEvents(context, scope, row.events),
    workers: await countWorkers(db, systemId),
    replays: await listLatestReplays(db, systemId, row.id, SHOWN_REPLAYS),
  };
}

function shownColumns({ tag: _tag, slot: _slot, url, station_ids, region_ids, bbox, ...row }: EndpointRow) {
  return { ...row, url: isRemoved(row) ? null : url, places: placesOf({ station_ids, region_ids, bbox }) };
}

/** A partner's endpoint in a list, with its counts. */
interface EndpointSummary extends Omit<SummaryRow, "url"> {
  /** Null: it was removed. */
  readonly url: string | null;
  /** The status in words. */
  readonly status_text: string;
}

/** The endpoints of a system, or of one partner. */
export interface EndpointOverview {
  /** Ordered by the partner's name. Includes removed ones while their log is kept. */
  readonly endpoints: readonly EndpointSummary[];
  /** Processes that are sending the system's webhooks. */
  readonly workers: number;
}

const LOG_RETENTION_MS = EVENT_RETENTION_DAYS * 86_400_000;

/**
 * Lists every partner's endpoints with their counts.
 * @param more `most`: maximum count of each kind, absent: unlimited; `partnerId`: only this partner's
 */
export async function listEndpointsWithStatus(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  systemId: string,
  more: { readonly most?: number; readonly partnerId?: string | undefined } = {},
): Promise<EndpointOverview> {
  const rows = await listEndpointSummaries(db, systemId, new Date(clock() - LOG_RETENTION_MS), more);
  const endpoints = rows.map((row) => ({
    ...row,
    url: isRemoved(row) ? null : row.url,
    status_text: describeStatus(row),
  }));
  return { endpoints, workers: await countWorkers(db, systemId) };
}

/** Lists the endpoints for a page. Counts up to MAX_COUNTED_DELIVERIES of each kind. */
export async function listShownEndpoints(
  context: { readonly db: Queryable; readonly clock: () => number },
  systemId: string,
): Promise<EndpointOverview> {
  const { endpoints, workers } = await listEndpointsWithStatus(context, systemId, { most: MAX_COUNTED_DELIVERIES });
  return { endpoints: endpoints.map((each) => ({ ...each, status_text: describeShownStatus(each) })), workers };
}

/** Returns the bytes of each endpoint's log, by the endpoint's id, without endpoints that have no log. */
export async function logBytesByEndpoint(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  systemId: string,
): Promise<ReadonlyMap<string, number>> {
  const sizes = await listEndpointLogs(db, systemId, oldestKept(dayOf(clock())));
  return new Map(sizes.map(({ endpoint_id: id, bytes }) => [id, bytes]));
}

/**
 * Rejects events that people of a partner add to an endpoint although none of the partner's keys may read them: only the
 * operator may add those. Events that the endpoint already has stay permitted.
 * @param scope `isNew`: the endpoint does not exist yet
 * @throws ServiceError
 */
export async function requireReadableEvents(
  context: { readonly db: Queryable; readonly clock: () => number },
  scope: EndpointScope & { readonly isNew?: true },
  events: readonly string[],
): Promise<void> {
  const rows = scope.isNew === true ? [] : await listEndpointsOf(context.db, scope.systemId, scope.partnerId);
  const chosen = chooseEndpoint(rows, scope)?.events ?? [];
  const unreadable = await unreadableEvents(context, scope, events);
  const permitted = expandEvents(chosen);
  const added = unreadable.filter((name) => !permitted.some((event) => event === name));
  if (added.length > 0) throw commandError("forbidden", "unreadableEvents", { events: added.join(", ") });
}

/**
 * Returns the events whose resource no active API key of the partner may read, by the keys' scopes. They are sent
 * nevertheless: the operator permits them by choosing the endpoint's events, and an expired key must not cost a delivery.
 */
export async function unreadableEvents(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  { systemId, partnerId }: PartnerScope,
  events: readonly string[],
): Promise<string[]> {
  const now = clock();
  const keys = await keysOf({ db }, systemId, partnerId);
  const scopes = new Set(keys.filter((key) => keyStatus(key, now) === "active").flatMap((key) => key.scopes));
  return expandEvents(events).filter((name) => !scopes.has(scopeOfEvent(name)));
}
