import type { Reservation } from "@bikeshare/contract";
import type { FleetReservation } from "@bikeshare/contract/console";
import { listFilters, type PageRequest, reservationLimit } from "@bikeshare/rules";
import type { PartnerHolds } from "../../health/metrics/sampled-metrics.ts";
import { millisecondsOf } from "../../iso-instant.ts";
import type { Database, Queryable } from "../../storage/db/database.ts";
import type { ChangePage, ChangeRange } from "../../storage/lists/change-queries.ts";
import { sievesOf } from "../../storage/lists/conditions.ts";
import { type Page, type TimePosition, timePositionOf, toPage } from "../../storage/lists/page.ts";
import type { ReadContext } from "../../storage/lists/read-context.ts";
import type { Sieve, SortedRows } from "../../storage/lists/sorted-rows.ts";
import type { ReservationOwner } from "../fleet/reservation-commands.ts";
import { systemsOf } from "../systems/service.ts";
import {
  countActiveReservations,
  findPartnerLimit,
  findReservation,
  listLargestHolders,
  listReservationChangePage,
  listReservationPage,
  listReservationsBy,
  rememberedReservations,
  type ReservationFilters,
} from "./queries.ts";

export type { ReservationFilters } from "./queries.ts";

/** The dependencies of reading reservations. */
export interface ReservationReadContext extends ReadContext {
  readonly clock: () => number;
}

/** Returns a page of a partner's reservations as they are now, newest first. */
export async function listReservations(
  { filtered, rowMemory, clock }: ReservationReadContext,
  owner: ReservationOwner,
  filters: ReservationFilters,
  request: PageRequest<TimePosition>,
): Promise<Page<TimePosition>> {
  const now = clock();
  const scope = { ...owner, now: new Date(now) };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  // An index finds the reservation of a ride, and a page after a cursor of the unfiltered list. Any other page counts or
  // filters all of the partner's reservations, which is faster in memory.
  const isIndexed = filters.ride_id !== undefined || (request.kind === "cursor" && !isFiltered);
  const remembered = isIndexed
    ? undefined
    : await rowMemory?.page(rememberedReservations, {
        ...owner,
        parameters: [owner.systemId, owner.partnerId, scope.now],
        request,
        sieves: (rows) => reservationSieves(rows, filters, now),
        keyOf: ({ at, id }) => ({ time: Date.parse(at), id }),
      });
  // The database finds the page when the partner's reservations are not in memory.
  const rows = remembered ?? (await filtered.read(owner, (db) => listReservationPage(db, scope, filters, request)));
  return toPage(request, rows, (json) => timePositionOf(json, "created_at"));
}

/** Returns a page of the changes of a partner's reservations, in their present state and in the order of the changes. */
export function listReservationChanges(
  context: ReservationReadContext,
  owner: ReservationOwner,
  filters: ReservationFilters,
  range: ChangeRange,
): Promise<ChangePage> {
  return listReservationChangePage(context, { ...owner, now: new Date(context.clock()) }, filters, range);
}

/** Returns the present JSON of one of a partner's reservations; undefined when the partner has none with this id. */
export function getReservation(
  { readPool, clock }: ReservationReadContext,
  owner: ReservationOwner,
  id: string,
): Promise<string | undefined> {
  return findReservation(readPool, { ...owner, now: new Date(clock()) }, id);
}

/** Returns how many active reservations a partner may have and has. */
export async function reservationUse(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  { systemId, partnerId }: ReservationOwner,
): Promise<{ readonly limit: number; readonly active: number }> {
  const partner = await findPartnerLimit(db, systemId, partnerId);
  const active = await countActiveReservations(db, systemId, partnerId, new Date(clock()));
  return { limit: reservationLimit(partner?.max_reservations ?? null), active };
}

/** Maximum number of partners of a system with their own metrics. Too high: more time series than anybody reads. */
const SHOWN_PARTNERS = 20;

/**
 * Returns, for each of the operator's systems, the partners that hold the most bikes: how many each holds, and may hold.
 * @param now milliseconds since 1970
 */
export async function largestHolders(db: Database, now: number): Promise<PartnerHolds[]> {
  const holders: PartnerHolds[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) {
    const rows = await listLargestHolders(db, systemId, { at: new Date(now), limit: SHOWN_PARTNERS });
    for (const { partner_id: partnerId, active, max_reservations: limit } of rows) {
      holders.push({ systemId, partnerId, active, limit: reservationLimit(limit) });
    }
  }
  return holders;
}

/** Returns a reservation of any partner as it is now, for the operator; undefined: there is none. */
export async function reservationOfAnyPartner(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  systemId: string,
  id: string,
): Promise<FleetReservation | undefined> {
  return (await listReservationsBy(db, "id", { systemId, value: id, now: new Date(clock()), limit: 1 }))[0];
}

/** A filter of the operator's list of reservations. At most one field is set, so that an index finds the reservations. */
export type AnyPartnersFilter = Partial<Record<"bike_id" | "ride_id" | "partner_id", string | undefined>> & {
  readonly status?: "active" | undefined;
};

/** Returns a page of reservations of all partners as they are now, newest first, for the operator. */
export async function reservationsOfAllPartners(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  systemId: string,
  filter: AnyPartnersFilter,
  { after, limit }: { readonly after?: TimePosition; readonly limit: number },
): Promise<{ readonly data: FleetReservation[]; readonly next: TimePosition | undefined }> {
  const names = ["bike_id", "ride_id", "partner_id", "status"] as const;
  const by = names.find((name) => filter[name] !== undefined) ?? "all";
  const value = by === "all" ? "" : (filter[by] ?? "");
  // One row more than the page shows, which tells whether there is a next page.
  const common = { systemId, value, now: new Date(clock()), limit: limit + 1 };
  const rows = await listReservationsBy(db, by, after === undefined ? common : { ...common, after });
  const data = rows.slice(0, limit);
  const last = rows.length > limit ? data.at(-1) : undefined;
  return { data, next: last && { at: last.created_at, id: last.id } };
}

/**
 * Returns the sieves (filters of rows in memory) for reservations at an instant. An overdue reservation counts as expired,
 * and as changed when it expired.
 */
function reservationSieves(
  rows: SortedRows,
  { status, updated_since: since, ...filters }: ReservationFilters,
  now: number,
): Sieve[] {
  const sieves = sievesOf(rows, listFilters.reservations, filters);
  if (status !== undefined) sieves.push(ofStatus(rows, status, now));
  if (since !== undefined) sieves.push(updatedSince(rows, millisecondsOf(since), now));
  return sieves;
}

// In memory, only active reservations have an `expires_at`, so `expires_at <= now` alone means overdue: for other rows it is
// NaN, and comparisons with NaN are false. The loops have no branches, because the processor would predict them wrongly
// (storage/lists/conditions.ts). They write each row behind the kept ones, and keep it by adding 1 to `kept`.

/** Returns the sieve that keeps reservations with a status. */
function ofStatus(rows: SortedRows, status: Reservation["status"], now: number): Sieve {
  // Texts are kept in memory as numbers, their codes.
  const [statusCodes, wantedCode] = [rows.texts("status"), rows.code("status", status)];
  const ends = rows.numbers("expires_at");
  // Overdue reservations count as expired, not as active.
  const [isExpired, isActive] = [Number(status === "expired"), Number(status === "active")];
  return (found, n) => {
    let kept = 0;
    for (let i = 0; i < n; i++) {
      const row = found[i] ?? 0;
      const isOverdue = Number((ends[row] ?? Number.NaN) <= now);
      found[kept] = row;
      // 1 for a row with the stored status, unless it is active but overdue; and for overdue rows if `expired` is
      // wanted.
      kept += (Number(statusCodes[row] === wantedCode) & ~(isActive & isOverdue)) | (isExpired & isOverdue);
    }
    return kept;
  };
}

/** Returns the sieve that keeps reservations which changed at `since` or later. Both times in milliseconds since 1970. */
function updatedSince(rows: SortedRows, since: number, now: number): Sieve {
  const [updates, ends] = [rows.numbers("updated_at"), rows.numbers("expires_at")];
  return (found, n) => {
    let kept = 0;
    for (let i = 0; i < n; i++) {
      const row = found[i] ?? 0;
      const end = ends[row] ?? Number.NaN;
      found[kept] = row;
      kept += Number((updates[row] ?? Number.NaN) >= since) | (Number(end <= now) & Number(end >= since));
    }
    return kept;
  };
}
