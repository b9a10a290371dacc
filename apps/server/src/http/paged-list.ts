import { cursorScope, type PageRequest, type PagingQuery } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import type { ChangeWatch, FollowedTable } from "../city/changes/service.ts";
import type { ChangePage, ChangeRange } from "../storage/lists/change-queries.ts";
import type { Page, PositionCodec } from "../storage/lists/page.ts";
import { callerOf } from "./authenticate.ts";

/** A list as an endpoint serves it. */
export interface PagedList<Position, Filters> {
  readonly name: string;
  readonly position: PositionCodec<Position>;
  /**
   * What else than filters decides which items a caller sees. A cursor is valid for the same alone: a position in another
   * caller's list would skip or repeat items.
   */
  readonly visibility?: (request: FastifyRequest) => Readonly<Record<string, unknown>>;
  read(request: FastifyRequest, filters: Filters, page: PageRequest<Position>): Promise<Page<Position>>;
  /** How its changes are followed, where they can be. */
  readonly followed?: FollowedList<Filters>;
}

/** How the changes of a list are followed. */
export interface FollowedList<Filters> {
  readonly table: FollowedTable;
  readonly watch: ChangeWatch;
  readChanges(request: FastifyRequest, filters: Filters, range: ChangeRange): Promise<ChangePage>;
}

/** The parameters that say from where changes are followed. */
export interface FollowingQuery {
  readonly updated_since?: string | undefined;
  readonly changes_since?: string | undefined;
}

/** A request of a page. */
export interface PageCall<Filters> {
  readonly request: FastifyRequest;
  readonly filters: Filters & FollowingQuery;
  readonly paging: PagingQuery;
}

/** The parts of a list's envelope. */
export interface Envelope {
  /** The items' JSON texts, with commas between. */
  readonly items: string;
  readonly numbers?: { readonly page: number; readonly total_pages: number } | undefined;
  readonly nextCursor?: string | undefined;
  readonly checkpoint?: string | undefined;
}

/** What a cursor of a list is valid for. */
export function scopeOf(
  { name, visibility }: Pick<PagedList<never, never>, "name" | "visibility">,
  { request, filters }: PageCall<object>,
): string {
  return cursorScope(callerOf(request).key.system_id, name, { ...filters, ...visibility?.(request) });
}
