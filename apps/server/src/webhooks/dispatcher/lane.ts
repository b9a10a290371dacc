import type { LiveEndpoint } from "../endpoints/endpoints.ts";
import type { ClaimedRow, ClaimRequest } from "../queue/due-queries.ts";
import { type EndpointHealth, HEALTHY } from "../rules/endpoint-health.ts";
import { LogMeter } from "./log-meter.ts";

/** A lane in its holder's memory: one endpoint's deliveries on their way. */
export interface Lane {
  readonly endpointId: string;
  readonly token: number;
  endpoint: LiveEndpoint;
  health: EndpointHealth;
  /** Claimed, and not yet begun. */
  readonly queue: ClaimedRow[];
  /** Ids of all that is claimed and not yet written back: queued, in flight, or ended. */
  readonly known: Set<string>;
  inFlight: number;
  /** How many may be in flight now. */
  allowance: number;
  /** Attempts that ended since the last claim: what the next claim may take ahead. */
  ended: number;
  /** By the monotonic clock, in milliseconds. */
  leasedUntil: number;
  /** To be given up when nothing of it is known any more. */
  leaving: boolean;
  /** Deliveries may be claimed that are not `known`: an answer of the database was lost, or giving back failed. */
  suspect: boolean;
  /** The endpoint's changes of status by its own answers. */
  readonly changes: StatusChanges;
  /** How much of the log the endpoint's attempts take. */
  readonly meter: LogMeter;
  readonly live: Line;
  readonly replay: Line;
}

/**
 * Counts of changes. While fewer were read than made, what is read of the endpoint's status is older than what its holder
 * knows.
 */
interface StatusChanges {
  made: number;
  written: number;
  /** Written before the settings were read the last time. */
  read: number;
}

/** One of a lane's two lines: what happens now, and what is sent again on request. */
export interface Line {
  /** More may be due. */
  more: boolean;
  /** Milliseconds since 1970: what was due before is gone, but for what committed late. */
  after: number;
  /** By the monotonic clock: when the whole line was last looked through, and how long that took. */
  sweptAt: number;
  sweepTook: number;
}

/** Deliveries in flight to one endpoint, at most. Fewer slow a far endpoint down, more overrun a small one. */
export const MAX_IN_FLIGHT_PER_ENDPOINT = 10;
/** Deliveries claimed ahead of the allowance. More would be marked as unknown when the process dies, though never sent. */
const MAX_AHEAD = 100;
/**
 * Deliveries begun and not yet written back, at most: those in flight, and as many again that are answered. They are what
 * is sent a second time when the process dies. More are repeated then, fewer let a quick receiver wait for our writing.
 */
const MAX_UNWRITTEN = 2 * MAX_IN_FLIGHT_PER_ENDPOINT;
/**
 * Milliseconds by which a claim looks back before what it saw last: for what was due earlier and committed later.
 * Longer steps over more dead rows; shorter leaves more to the next sweep.
 */
const LOOK_BACK = 3_000;
/** Milliseconds between two looks through the whole line, and how much longer than the look itself the pause is. */
const SWEEP_EVERY = 2_000;
const SWEEP_SHARE = 20;
/**
 * Milliseconds that a lane must still be leased for when an attempt begins: the 15 s it may take, and a little. With
 * less, two processes could be sending for one endpoint.
 */
export const LEASE_NEEDED = 16_000;

export function openLane(token: number, endpoint: LiveEndpoint, health: EndpointHealth, leasedUntil: number): Lane {
  return {
    endpointId: endpoint.id,
    token,
    endpoint,
    health,
    queue: [],
    known: new Set(),
    inFlight: 0,
    allowance: MAX_IN_FLIGHT_PER_ENDPOINT,
    ended: 0,
    leasedUntil,
    leaving: false,
    suspect: false,
    changes: { made: 0, written: 0, read: 0 },
    meter: new LogMeter(),
    live: openLine(),
    replay: openLine(),
  };
}

function openLine(): Line {
  return { more: true, after: 0, sweptAt: Number.NEGATIVE_INFINITY, sweepTook: 0 };
}

/**
 * Takes over what was read of the endpoint. A resume begins anew, and so does a new address: what was before says
 * nothing about it.
 */
export function noteSettings(lane: Lane, read: LiveEndpoint): void {
  const { endpoint, changes } = lane;
  lane.endpoint = changes.read < changes.made ? { ...read, status: endpoint.status } : read;
  const isResumed = endpoint.status === "paused" && lane.endpoint.status !== "paused";
  if (isResumed || read.url !== endpoint.url) lane.health = HEALTHY;
}

/** Whether the lane may begin an attempt. */
export function mayBegin(lane: Lane, monotonic: number): boolean {
  return (
    lane.endpoint.status !== "paused" &&
    lane.inFlight < allowanceOf(lane) &&
    lane.known.size - lane.queue.length < MAX_UNWRITTEN &&
    lane.leasedUntil - monotonic >= LEASE_NEEDED
  );
}

/** An endpoint that was resumed gets one delivery at a time until it answers with success. */
function allowanceOf(lane: Lane): number {
  return lane.endpoint.status === "probing" ? 1 : lane.allowance;
}

/** What to claim for a lane from one of its lines; undefined: nothing now. @param anyRoom also where there is little */
export function claimFor(lane: Lane, line: Line, monotonic: number, anyRoom: boolean): ClaimRequest | undefined {
  if (!line.more || lane.leaving || lane.suspect || lane.endpoint.status === "paused") return undefined;
  if (lane.leasedUntil - monotonic < LEASE_NEEDED) return undefined;
  const allowance = allowanceOf(lane);
  const ahead = lane.endpoint.status === "probing" ? 0 : Math.min(lane.ended, MAX_AHEAD);
  const room = allowance + ahead - (line === lane.live ? beforeLive(lane) : lane.inFlight + lane.queue.length);
  // Claims of one or two would cost a statement each.
  const isWorthwhile = room >= allowance / 2 || (room > 0 && (anyRoom || lane.inFlight === 0));
  if (!isWorthwhile) return undefined;
  const isSweep = monotonic - line.sweptAt >= Math.max(SWEEP_EVERY, SWEEP_SHARE * line.sweepTook);
  const after = new Date(isSweep ? 0 : line.after);
  return { endpointId: lane.endpointId, token: lane.token, limit: Math.floor(room), after };
}

/**
 * What goes before the next delivery of the live line. Where replays wait in the queue it takes the next place of theirs
 * that is free, and so has to be claimed before there is one.
 */
function beforeLive({ queue, inFlight }: Lane): number {
  const live = liveIn(queue);
  return live < queue.length ? live : live + inFlight;
}

/** Notes what a claim gave; `line.more` was put down when it began. @param span when the claim began and ended, by the monotonic clock */
export function noteClaim(
  line: Line,
  request: ClaimRequest,
  rows: readonly ClaimedRow[],
  now: number,
  span: { readonly from: number; readonly to: number },
): void {
  const isFull = rows.length >= request.limit;
  // Otherwise it stays: somebody may have said so since the claim began.
  if (isFull) line.more = true;
  const last = rows.at(-1);
  line.after = (isFull && last !== undefined ? last.due_at.getTime() : now) - LOOK_BACK;
  if (request.after.getTime() > 0) return;
  line.sweptAt = span.to;
  line.sweepTook = span.to - span.from;
}

/** Puts what was claimed in the queue, what happens now before what is sent again. */
export function takeUp(lane: Lane, rows: readonly ClaimedRow[]): void {
  lane.ended = 0;
  // What is known already is claimed anew because its last result was written and we were not told: given back later.
  const fresh = rows.filter((row) => !lane.known.has(row.delivery_id));
  for (const row of fresh) lane.known.add(row.delivery_id);
  const isReplay = fresh[0]?.replay === true;
  lane.queue.splice(isReplay ? lane.queue.length : liveIn(lane.queue), 0, ...fresh);
}

/** How many of a queue are no replays: they come first. */
function liveIn(queue: readonly ClaimedRow[]): number {
  const firstReplay = queue.findIndex((row) => row.replay);
  return firstReplay === -1 ? queue.length : firstReplay;
}

/** Notes how an attempt ended: an endpoint that lets us wait gets fewer at a time, so that it binds little of us. */
export function noteEnd(lane: Lane, madeUsWait: boolean): void {
  lane.inFlight--;
  lane.ended++;
  lane.allowance = madeUsWait
    ? Math.max(1, Math.floor(lane.allowance / 2))
    : Math.min(MAX_IN_FLIGHT_PER_ENDPOINT, lane.allowance + 1);
}
