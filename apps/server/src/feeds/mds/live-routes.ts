import { MDS_MEDIA_TYPE, MDS_VERSION, type mdsContract } from "@bikeshare/contract/mds";
import { serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import { callerOf, partnerOf } from "../../http/authenticate.ts";
import type { CursorCipher } from "../../http/cursor.ts";
import type { HeaderWriter, HourContext } from "./hour-routes.ts";
import { leaveOut, type RecordList } from "./left-out.rules.ts";
import { eventRecords, lastEventRecord, statusRecord, vehicleRecord } from "./records.rules.ts";
import {
  type Agency,
  agencyOf,
  leftSince,
  type EventSpan,
  type LogPosition,
  recentEvents,
  recordRead,
  vehicleOfDevice,
  vehiclePage,
  type VehicleRow,
} from "./service.ts";
import { stopRecord } from "./stop.rules.ts";
import { stopOfId, stopsOf } from "./stops.ts";

/** The dependencies of the routes for the present state. */
export interface LiveContext extends HourContext {
  readonly baseUrl: () => string;
  readonly cursors: CursorCipher;
}

/** The endpoints of MDS that show the present state. */
type LiveRoutes = Pick<
  RouterImplementation<typeof mdsContract>,
  "vehicles" | "vehicle" | "vehiclesStatus" | "vehicleStatus" | "recentEvents" | "stops" | "stop"
>;

/**
 * The paths of the two lists of vehicles, to which the links to next pages lead. `deployed` has what each vehicle is, such as
 * its type. `statuses` has its state and its last event.
 */
const vehiclePaths = { deployed: "/mds/vehicles", statuses: "/mds/vehicles/status" } as const;
const RECENT_PATH = "/mds/events/recent";

/** Routes for the present state: vehicles, recent events and stops. */
export function liveRoutes(context: LiveContext): LiveRoutes {
  // The fields that MDS requires beside a list. `ttl` is 0, because the lists are read anew for each request.
  const meta = () => ({ version: MDS_VERSION, last_updated: context.clock(), ttl: 0 });
  const ask = (request: FastifyRequest) => agencyOf(context, partnerOf(request));
  return {
    vehicles: async ({ request, reply, query }) => {
      const agency = await ask(request);
      const { rows, links } = await readPage(context, agency, "deployed", query.cursor);
      return ok(reply, agency, { ...meta(), vehicles: deployedOf(rows, agency, context), links });
    },
    vehicle: async ({ params, request, reply }) => {
      const agency = await ask(request);
      const vehicles = deployedOf([await vehicleOfDevice(context, agency, params.device_id)], agency, context);
      if (vehicles.length === 0) throw serviceError("not_found", "device");
      return ok(reply, agency, { ...meta(), vehicles });
    },
    vehiclesStatus: async ({ request, reply, query }) => {
      const agency = await ask(request);
      const { rows, links } = await readPage(context, agency, "statuses", query.cursor);
      return ok(reply, agency, { ...meta(), vehicles_status: statusesOf(rows, agency, context), links });
    },
    vehicleStatus: async ({ params, request, reply }) => {
      const agency = await ask(request);
      const rows = statusesOf([await vehicleOfDevice(context, agency, params.device_id)], agency, context);
      if (rows.length === 0) throw serviceError("not_found", "device");
      return ok(reply, agency, { ...meta(), vehicles_status: rows });
    },
    recentEvents: async ({ request, reply, query: { start_time: from, end_time: to, cursor } }) => {
      const agency = await ask(request);
      const { rows, links } = await readEvents(context, agency, { from, to }, cursor);
      // The audit log records a read once, with its first page.
      if (cursor === undefined) {
        const read = { endpoint: RECENT_PATH, from: new Date(from).toISOString(), to: new Date(to).toISOString() };
        await recordRead(context, agency, callerOf(request).key.id, read);
      }
      const events = rows.flatMap((row) => eventRecords(row, agency));
      return ok(reply, agency, { version: MDS_VERSION, events, links });
    },
    stops: async ({ request, reply }) => {
      const agency = await ask(request);
      const { rows, formFactors } = await stopsOf(context, agency);
      const records = rows.map((row) => stopRecord(row, { ...agency, formFactors }));
      return ok(reply, agency, { ...meta(), stops: records });
    },
    stop: async ({ params, request, reply }) => {
      const agency = await ask(request);
      const { row, formFactors } = await stopOfId(context, agency, params.stop_id);
      return ok(reply, agency, { ...meta(), stops: [stopRecord(row, { ...agency, formFactors })] });
    },
  };
}

/**
 * Returns the vehicles that are within the agency's boundary, or left it recently. Without a boundary, returns all, also those
 * without a known position, because these records contain none.
 */
function deployedOf(rows: readonly VehicleRow[], agency: Agency, context: LiveContext) {
  const since = leftSince(context, "deployed");
  const isShown = (row: VehicleRow) =>
    agency.boundaryHash === null || lastEventRecord(row, agency, since) !== undefined;
  return rows.filter(isShown).map((row) => vehicleRecord(row, agency));
}

/** Returns the statuses of the vehicles that the agency may see. */
function statusesOf(rows: readonly VehicleRow[], agency: Agency, context: LiveContext) {
  return rows.flatMap((row) => statusRecord(row, agency, leftSince(context, "statuses")) ?? []);
}

/** Reads a page of vehicles, and makes the link to the next. */
async function readPage(
  context: LiveContext,
  agency: Agency,
  list: keyof typeof vehiclePaths,
  cursor: string | undefined,
) {
  const scope = `mds ${agency.whose.systemId} ${list}`;
  const after = readCursor(context, scope, cursor) ?? "";
  const { rows, next } = await vehiclePage(context, agency, list, after);
  return { rows, links: linksTo(context, scope, `${vehiclePaths[list]}?`, next) };
}

/** Reads a page of recent events, and makes the link to the next. A cursor is valid for the same period only. */
async function readEvents(context: LiveContext, agency: Agency, { from, to }: EventSpan, cursor: string | undefined) {
  const scope = `mds ${agency.whose.systemId} events ${from} ${to}`;
  const text = readCursor(context, scope, cursor);
  const after = text === undefined ? undefined : (JSON.parse(text) as LogPosition); // encrypted by us
  const { rows, next } = await recentEvents(context, agency, { from, to }, after);
  const path = `${RECENT_PATH}?start_time=${from}&end_time=${to}&`;
  return { rows, links: linksTo(context, scope, path, next && JSON.stringify(next)) };
}

/**
 * Returns the position after which a page begins; undefined: the first page.
 * @param scope names the list: a cursor of another list is rejected
 * @throws ServiceError `invalid_cursor`
 */
function readCursor({ cursors }: LiveContext, scope: string, cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const after = cursors.decrypt(scope, cursor);
  if (after === undefined) throw serviceError("invalid_cursor", "foreign");
  return after;
}

/** Returns the link to the next page. @param path with `?` or `&` at its end @param next undefined: this page is the last */
function linksTo({ cursors, baseUrl }: LiveContext, scope: string, path: string, next: string | undefined) {
  return { next: next === undefined ? null : `${baseUrl()}${path}cursor=${cursors.encrypt(scope, next)}` };
}

/** Answers with lists of records, without the fields that the agency's requirement file disallows. */
function ok<Body extends object>(reply: HeaderWriter, { leftOut }: Agency, body: Body) {
  reply.header("content-type", MDS_MEDIA_TYPE);
  const allowed = Object.entries(body).map(([name, value]: [string, unknown]) => [
    name,
    leaveOut(leftOut[name as RecordList], value),
  ]);
  return { status: 200 as const, body: Object.fromEntries(allowed) as Body };
}
