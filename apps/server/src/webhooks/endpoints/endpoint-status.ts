import type { Queryable, Transaction } from "../../db/database.ts";
import { commandError } from "../../errors/command-errors.ts";
import type { ServiceError } from "../../errors/service-error.ts";
import { holdPartner } from "../../partners/service.ts";
import { takeProbe } from "../queue/probe-queries.ts";
import { latestReplays, type ReplayRow } from "../queue/replay-queries.ts";
import { countWorkers } from "../queue/worker-queries.ts";
import { type EndpointContext, type PartnerScope, recordEndpointAct } from "./endpoint-context.ts";
import { mustBeSet, mustBeThere } from "./endpoint-lookup.ts";
import {
  countEndpoint,
  type EndpointCounts,
  type EndpointRow,
  findEndpoint,
  lockEndpoint,
  markPaused,
  markStatus,
  resetLaneHealth,
} from "./endpoint-queries.ts";
import { describeStatus, isRemoved } from "./endpoint.ts";
import { unreadableEvents } from "./readable-events.ts";
import { listLiveSecrets } from "./secret-queries.ts";

/** An endpoint as its partner sees it. Never with a secret. */
export interface EndpointView extends Omit<EndpointRow, "tag" | "url">, EndpointCounts {
  /** Null: it was removed. */
  readonly url: string | null;
  /** The status in words. */
  readonly status_text: string;
  /** Secrets that sign now, the newest first; `expires_at` null: until it is rotated. */
  readonly secrets: readonly { readonly id: string; readonly expires_at: Date | null }[];
  /** Those of its events that tell of what no key of the partner may read. */
  readonly unreadable_events: readonly string[];
  /** Processes that are sending the system's webhooks. */
  readonly workers: number;
  /** The latest first. */
  readonly replays: readonly ReplayRow[];
}

/** Replays that are shown with an endpoint. */
const SHOWN_REPLAYS = 5;

/**
 * A partner's endpoint and how it does.
 * @throws ServiceError when there is none
 */
export async function showEndpoint(
  context: { readonly db: Queryable; readonly clock: () => number },
  scope: PartnerScope,
): Promise<EndpointView> {
  const { db, clock } = context;
  const { systemId, partnerId } = scope;
  const row = await mustBeThere(context, await findEndpoint(db, systemId, partnerId), scope);
  const live = await listLiveSecrets(db, systemId, row.id, new Date(clock()));
  return {
    ...shownColumns(row),
    ...(await countEndpoint(db, systemId, row.id)),
    status_text: describeStatus(row),
    secrets: live.map(({ id, expires_at: expiresAt }) => ({ id, expires_at: expiresAt })),
    unreadable_events: await unreadableEvents(context, scope, row.events),
    workers: await countWorkers(db, systemId),
    replays: await latestReplays(db, systemId, row.id, SHOWN_REPLAYS),
  };
}

/** The tag makes ids; it tells nobody anything. */
function shownColumns({
  tag: _tag,
  url,
  ...row
}: EndpointRow): Omit<EndpointRow, "tag" | "url"> & { url: string | null } {
  return { ...row, url: isRemoved(row) ? null : url };
}

/** An endpoint whose status was asked to change. */
export interface EndpointChange {
  readonly endpoint: EndpointRow;
  /** False: it was so already. */
  readonly changed: boolean;
}

/**
 * Pauses an endpoint: what happens from now on is held, what is in flight ends. One that is paused already keeps its
 * reason.
 * @throws ServiceError when there is no endpoint
 */
export async function pauseEndpoint(
  context: EndpointContext,
  input: PartnerScope & { readonly reason: "partner" | "operator" },
): Promise<EndpointChange> {
  const { systemId, partnerId, reason } = input;
  return context.db.transaction(async (tx) => {
    const before = await mustBeSet(context, await lockEndpoint(tx, systemId, partnerId), input);
    const now = new Date(context.clock());
    const paused = await markPaused(tx, systemId, before.id, { from: ["active", "probing"], reason, now });
    if (paused === undefined) return { endpoint: before, changed: false };
    await recordEndpointAct(context, tx, systemId, "webhook.paused", before.id, { reason });
    return { endpoint: paused, changed: true };
  });
}

/** An endpoint that was resumed. */
export interface ResumedEndpoint extends EndpointChange {
  /** The held delivery that is sent to see whether the endpoint is well; null: the next event is. */
  readonly probe: string | null;
  /** Deliveries that stay held: a replay sends them. */
  readonly held: number;
  readonly held_since: Date | null;
}

/**
 * Resumes a paused endpoint: one delivery is sent as a probe, the oldest of those held; once it succeeds the endpoint is
 * active.
 * @throws ServiceError when there is no endpoint, or its partner is suspended
 */
export async function resumeEndpoint(context: EndpointContext, scope: PartnerScope): Promise<ResumedEndpoint> {
  const { systemId, partnerId } = scope;
  return context.db.transaction(async (tx) => {
    const partner = await holdPartner(tx, systemId, partnerId);
    const before = await mustBeSet(context, await lockEndpoint(tx, systemId, partnerId), scope);
    if (partner?.suspended_at instanceof Date) throw suspended(partnerId);
    return resumeLocked(context, tx, systemId, before);
  });
}

/** Resumes an endpoint that is locked. */
export async function resumeLocked(
  context: EndpointContext,
  tx: Transaction,
  systemId: string,
  before: EndpointRow,
): Promise<ResumedEndpoint> {
  const now = new Date(context.clock());
  const resumed = await markStatus(tx, systemId, before.id, { from: "paused", to: "probing", now });
  let probe: string | null = null;
  if (resumed !== undefined) {
    await resetLaneHealth(tx, systemId, before.id);
    probe = (await takeProbe(tx, systemId, before.id, now)) ?? null;
    const was = before.pause_reason;
    await recordEndpointAct(context, tx, systemId, "webhook.resumed", before.id, { was, probe });
  }
  const { held, held_since } = await countEndpoint(tx, systemId, before.id);
  return { endpoint: resumed ?? before, changed: resumed !== undefined, probe, held, held_since };
}

/** What is refused while a partner is suspended: it must not be sent anything. */
export function suspended(partnerId: string): ServiceError {
  return commandError("conflict", "partnerSuspended", { partnerId });
}
