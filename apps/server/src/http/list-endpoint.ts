import {
  cursorScope,
  pageNumbers,
  type PageRequest,
  type PagingQuery,
  readPageRequest,
  serviceError,
} from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import {
  type ChangeWatch,
  type Checkpoint,
  checkpointText,
  type FollowedTable,
  lossOf,
  nextSince,
} from "../city/changes/service.ts";
import type { ChangePage, ChangePosition, ChangeRange } from "../storage/lists/change-queries.ts";
import type { Page, PositionCodec } from "../storage/lists/page.ts";
import { callerOf, partnerOf } from "./authenticate.ts";
import { jsonBody } from "./bind.ts";
import { type CursorCipher, cursorPosition } from "./cursor.ts";

/*
 * Serves lists page by page. A walk is a series of pages by cursor. A walk may end with a checkpoint; a later walk begins
 * there and reads only what has changed since. `pageReader` chooses between three kinds of pages: those of a walk that ends
 * with a checkpoint (`readToCheckpoint`), those of the changes since a checkpoint (`readChanges`), and all others
 * (`readPage`).
 */

interface ListCall<Filters> {
  readonly query: Filters & PagingQuery;
  readonly request: FastifyRequest;
}

/** Returns the handler of a list endpoint: reads the requested page and writes the list's envelope around it. */
export function listEndpoint<Position, Filters extends object>(
  cursors: CursorCipher,
  list: PagedList<Position, Filters>,
) {
  const read = pageReader(cursors, list);
  return async (call: ListCall<Filters>) => ({ status: 200 as const, body: jsonBody<never>(await read(call)) });
}

/** Like `listEndpoint`, and returns the body as text, for a list whose pages are cached. */
export function pageReader<Position, Filters extends object>(
  cursors: CursorCipher,
  list: PagedList<Position, Filters>,
): (call: ListCall<Filters>) => Promise<string> {
  const { followed } = list;
  return async ({ query: { page, limit, cursor, ...rest }, request }) => {
    // The query without the paging parameters.
    const filters = rest as unknown as Filters & FollowingQuery;
    const call = { request, filters, paging: { page, limit, cursor } };
    if (followed !== undefined && filters.changes_since !== undefined) {
      return writeEnvelope(await readChanges(cursors, { ...list, followed }, call));
    }
    // Not for a numbered page: it may repeat or skip items, so a client cannot follow changes from its end.
    if (followed !== undefined && filters.updated_since !== undefined && page === undefined) {
      return writeEnvelope(await readToCheckpoint(cursors, { ...list, followed }, call));
    }
    return writeEnvelope(await readPage(cursors, list, call));
  };
}

/** Returns any page other than those of `readToCheckpoint` and `readChanges`. */
async function readPage<Position, Filters extends object>(
  cursors: CursorCipher,
  list: PagedList<Position, Filters>,
  call: PageCall<Filters>,
): Promise<Envelope> {
  const position = cursorPosition(cursors, scopeOf(list, call), list.position);
  const asked = readPageRequest(call.paging, (text) => position.decode(text));
  // A page by cursor has no total, and shows no numbers.
  const { items, next, total = 0, checkpoint } = await list.read(call.request, call.filters, asked);
  // A page by number gives no cursor: its caller goes on by numbers.
  const nextCursor = asked.kind === "page" || next === undefined ? undefined : position.encode(next);
  return { items, numbers: pageNumbers(asked, total), nextCursor, checkpoint };
}

/** Writes the envelope as text, because the items are JSON texts already. */
function writeEnvelope({ items, numbers, nextCursor, checkpoint }: Envelope): string {
  let text = `{"data":[${items}]`;
  if (numbers !== undefined) text += `,"page":${numbers.page},"total_pages":${numbers.total_pages}`;
  if (nextCursor !== undefined) text += `,"next_cursor":"${nextCursor}"`;
  if (checkpoint !== undefined) text += `,"checkpoint":"${checkpoint}"`;
  return `${text}}`;
}

/** A list that an endpoint serves. */
export interface PagedList<Position, Filters> {
  /** The name that ties cursors and checkpoints to this list. */
  readonly name: string;
  readonly position: PositionCodec<Position>;
  /**
   * Returns properties, other than filters, that decide which items a caller sees. A cursor is valid only for requests with
   * equal properties, because a position in another caller's list would skip or repeat items.
   */
  readonly visibility?: (request: FastifyRequest) => Readonly<Record<string, unknown>>;
  read(request: FastifyRequest, filters: Filters, page: PageRequest<Position>): Promise<Page<Position>>;
  /** Settings for following the list's changes, if it can be followed. */
  readonly followed?: FollowedList<Filters>;
}

/** Settings for following a list's changes. */
interface FollowedList<Filters> {
  readonly table: FollowedTable;
  readonly watch: ChangeWatch;
  readChanges(request: FastifyRequest, filters: Filters, range: ChangeRange): Promise<ChangePage>;
}

/** The parameters by which a client follows changes: from a time, or from a checkpoint. */
interface FollowingQuery {
  readonly updated_since?: string | undefined;
  readonly changes_since?: string | undefined;
}

/** A request for a page. */
interface PageCall<Filters> {
  readonly request: FastifyRequest;
  readonly filters: Filters & FollowingQuery;
  readonly paging: PagingQuery;
}

/** A page of a list: the parts of the JSON object that is sent around its items. */
interface Envelope {
  /** The items' JSON texts, with commas between. */
  readonly items: string;
  readonly numbers?: { readonly page: number; readonly total_pages: number } | undefined;
  readonly nextCursor?: string | undefined;
  readonly checkpoint?: string | undefined;
}

/** Returns the text that ties a cursor to its system, list and filters. This scope is not that of a key. */
function scopeOf(
  { name, visibility }: Pick<PagedList<never, never>, "name" | "visibility">,
  { request, filters }: PageCall<object>,
): string {
  return cursorScope(callerOf(request).key.system_id, name, { ...filters, ...visibility?.(request) });
}

type Followed<Position, Filters> = PagedList<Position, Filters> & { readonly followed: FollowedList<Filters> };

/**
 * Returns a page of a walk by cursor that ends with a checkpoint. The checkpoint is that of the walk's beginning, because
 * items that the walk has passed may change before it ends.
 */
async function readToCheckpoint<Position, Filters extends object>(
  cursors: CursorCipher,
  list: Followed<Position, Filters>,
  call: PageCall<Filters>,
): Promise<Envelope> {
  const { request, filters, paging } = call;
  const cursor = cursorPosition(cursors, scopeOf(list, call), walkPosition(list.position));
  const asked = readPageRequest(paging, (text) => cursor.decode(text));
  const isFirst = asked.kind !== "cursor";
  // The checkpoint is read before the rows, so that later changes are after the checkpoint.
  const checkpoint = isFirst ? await checkpointOfNow(list.followed, request) : asked.after.checkpoint;
  const {
    items,
    next,
    total = 0,
  } = await list.read(request, filters, isFirst ? asked : { ...asked, after: asked.after.position });
  const numbers = pageNumbers(asked, total);
  return next === undefined
    ? { items, numbers, checkpoint: checkpointsOf(cursors, list, call).encode(checkpoint) }
    : { items, numbers, nextCursor: cursor.encode({ checkpoint, position: next }) };
}

/**
 * Returns a page of the changes since a checkpoint.
 * @throws ServiceError `checkpoint_lost` when changes may be missing, `invalid_cursor`, `invalid_parameter`
 */
async function readChanges<Position, Filters extends object>(
  cursors: CursorCipher,
  list: Followed<Position, Filters>,
  call: PageCall<Filters>,
): Promise<Envelope> {
  const { request, filters, paging } = call;
  if (paging.page !== undefined) throw serviceError("invalid_parameter", "changesByPage");
  if (filters.updated_since !== undefined) throw serviceError("invalid_parameter", "changesAndUpdatedSince");
  const cursor = cursorPosition(cursors, scopeOf(list, call), changeWalk);
  const checkpoints = checkpointsOf(cursors, list, call);
  const asked = readPageRequest(paging, (text) => cursor.decode(text));
  const walk = asked.kind === "cursor" ? asked.after : await beginWalk(list.followed, checkpoints, call);
  const { items, next } = await list.followed.readChanges(request, filters, { ...walk, limit: asked.limit });
  return next === undefined
    ? { items, checkpoint: checkpoints.encode(walk.checkpoint) }
    : { items, nextCursor: cursor.encode({ ...walk, after: next }) };
}

/** Returns the codec of checkpoints for a list and its filters. `updated_since` and `changes_since` are not filters here. */
function checkpointsOf<Filters extends object>(
  cursors: CursorCipher,
  { name, visibility }: Pick<PagedList<never, never>, "name" | "visibility">,
  { request, filters }: PageCall<Filters>,
): PositionCodec<Checkpoint> {
  const selection = { ...filters, ...visibility?.(request), updated_since: undefined, changes_since: undefined };
  const scope = cursorScope(callerOf(request).key.system_id, `changes of ${name}`, selection);
  return cursorPosition(cursors, scope, checkpointText);
}

/**
 * Returns the checkpoint from which a walk that begins now is continued later. It is made from the `standing` of the
 * list: up to which position its changes are complete, and a text (`history`) that differs after the database was
 * restored or reset.
 */
async function checkpointOfNow({ watch, table }: FollowedList<never>, request: FastifyRequest): Promise<Checkpoint> {
  const standing = await watch.standing(table, partnerOf(request));
  return { since: nextSince(standing), history: standing.history };
}

/** A position in a walk that ends with a checkpoint. */
interface WalkPosition<Position> {
  readonly checkpoint: Checkpoint;
  readonly position: Position;
}

/** Returns the codec of such positions: the checkpoint, and on the next line the position in the list. */
function walkPosition<Position>(codec: PositionCodec<Position>): PositionCodec<WalkPosition<Position>> {
  return {
    encode: ({ checkpoint, position }) => `${checkpointText.encode(checkpoint)}\n${codec.encode(position)}`,
    decode(text) {
      const [head = "", ...rest] = text.split("\n");
      const checkpoint = checkpointText.decode(head);
      const position = codec.decode(rest.join("\n"));
      return checkpoint === undefined || position === undefined ? undefined : { checkpoint, position };
    },
  };
}

/** A walk through changes: its bounds, its position, and its final checkpoint. */
interface ChangeWalk {
  /** The positions in the order of changes between which the walk reads, in microseconds since 1970. */
  readonly since: number;
  readonly upto: number;
  /** The last change that was read; undefined: the walk begins. */
  readonly after: ChangePosition | undefined;
  readonly checkpoint: Checkpoint;
}

/** The text of `changeWalk.encode`: three positions and the checkpoint, and on the next line the id of the last item. */
const CHANGE_WALK = /^(\d{1,16}) (\d{1,16}) (\d{1,16}) ([^\n]*)\n(.+)$/s;

const changeWalk: PositionCodec<ChangeWalk> = {
  // Only a walk that has read a page is encoded, so `after` is set.
  encode: ({ since, upto, after, checkpoint }) =>
    `${since} ${upto} ${after?.at ?? 0} ${checkpointText.encode(checkpoint)}\n${after?.id ?? ""}`,
  decode(text) {
    const [, since, upto, at, head = "", id = ""] = CHANGE_WALK.exec(text) ?? [];
    // A text of another form leaves `head` empty, which is no checkpoint.
    const checkpoint = checkpointText.decode(head);
    if (checkpoint === undefined) return undefined;
    return { since: Number(since), upto: Number(upto), after: { at: Number(at), id }, checkpoint };
  },
};

/** Why changes since a checkpoint may be missing, by the result of `lossOf`. */
const LOSSES = {
  replaced: "the database was restored or replaced, or an import was undone",
  clock: "the database's clock was set back",
  old: "it is older than removed bikes are kept",
};

/** Begins the walk through the changes since the checkpoint in `changes_since`. @throws ServiceError as `readChanges` */
async function beginWalk(
  { table, watch }: FollowedList<never>,
  checkpoints: PositionCodec<Checkpoint>,
  { request, filters }: PageCall<object>,
): Promise<ChangeWalk> {
  const checkpoint = checkpoints.decode(filters.changes_since ?? "");
  if (checkpoint === undefined) throw serviceError("invalid_cursor", "checkpoint");
  const standing = await watch.standing(table, partnerOf(request));
  const loss = lossOf(table, checkpoint, standing);
  if (loss !== undefined) throw serviceError("checkpoint_lost", "changes", { reason: LOSSES[loss] });
  const { since, history } = checkpoint;
  const next = { since: nextSince(standing, since), history };
  // 0: no change was recorded, so the walk reads nothing.
  return { since, upto: standing.newest ?? 0, after: undefined, checkpoint: next };
}
