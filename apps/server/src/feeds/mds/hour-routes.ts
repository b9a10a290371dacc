import { hash } from "node:crypto";
import { Readable } from "node:stream";
import { MDS_MEDIA_TYPE, MDS_VERSION } from "@bikeshare/contract/mds";
import { serviceError } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import fresh from "fresh";
import type { ActorContext } from "../../command-context.ts";
import { callerOf, partnerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import { mdsErrorJson } from "../../http/errors.ts";
import { createPlaces, type Places } from "../../http/places.ts";
import { leaveOut, type RecordList } from "./left-out.rules.ts";
import type { RecordContext } from "./records.rules.ts";
import { type Agency, agencyOf, type AgencyReads, type HourContent, recordRead } from "./service.ts";

/*
 * Answers an agency's request for one hour of a list, such as the trips that ended in the hour. An hour is settled when late
 * reports no longer change it (`hours.rules.ts`).
 */

/** The dependencies of the routes for hours. */
export interface HourContext extends AgencyReads, Omit<ActorContext, "actor"> {
  /** Limits the responses that are sent at the same time, each with an hour of records: it takes a place until it is sent. */
  readonly places: Places;
}

/**
 * Most hours that are sent to one agency at the same time, and to all agencies. While an hour is sent, a thousand of its
 * records are in memory, some megabytes, however slowly the agency reads. Too low: an agency that catches up on a day waits.
 * Too high: slow agencies fill the memory.
 */
const MAX_OF_AGENCY = 4;
const MAX_HOURS = 16;
/** The `Retry-After` of a refused request. */
const RETRY_SECONDS = 5;

/** Makes the limiter of hours that are sent at the same time. */
export function hourPlaces(): Places {
  return createPlaces({
    ofReader: MAX_OF_AGENCY,
    inAll: MAX_HOURS,
    refuse: (limit) => serviceError("rate_limited", "hours", { limit, retryAfterSeconds: RETRY_SECONDS }),
  });
}

/**
 * The part of a reply that these routes need. Fastify's own type is not used, because it differs between versions of
 * Fastify, and ts-rest uses an older version.
 */
export interface HeaderWriter {
  header(name: string, value: string): unknown;
}

/** A request, and its reply. */
interface HourCall {
  readonly request: FastifyRequest;
  readonly reply: HeaderWriter;
}

/** A list that agencies read hour by hour, such as trips. */
interface HourList<Row, Opened = HourContent<Row>> {
  readonly path: string;
  /** The field of the response that holds the list. */
  readonly list: RecordList;
  readonly open: (agency: Agency) => Promise<Opened>;
  /** Converts a row to MDS's records. Returns none when the agency may not see the row. */
  readonly records: (row: Row, context: RecordContext) => readonly object[];
}

/** The body of a 202. */
const NOT_SETTLED = mdsErrorJson(
  "hour_not_settled",
  "The hour is not settled: reports of it may still arrive. Ask again an hour after its end.",
);

/**
 * Answers a request for an hour of a list: with 202 until the hour is settled, or with 304 when the agency already has it.
 * The audit log records each response with status 200.
 * @param list its `open` returns undefined while the hour is not settled
 */
export async function answerHour<Row>(
  context: HourContext,
  call: HourCall,
  hour: number,
  { open, ...list }: HourList<Row, HourContent<Row> | undefined>,
) {
  const agency = await agencyOf(context, partnerOf(call.request));
  const content = await open(agency);
  if (content !== undefined) return sendHour(context, call, hour, { ...list, agency, content });
  call.reply.header("content-type", MDS_MEDIA_TYPE);
  return { status: 202 as const, body: jsonBody<never>(NOT_SETTLED) };
}

/**
 * Answers a request for an hour of a list whose hours need not be settled: with 304 when the agency already has the hour.
 * The audit log records each response with status 200.
 */
export async function answerAnyHour<Row>(
  context: HourContext,
  call: HourCall,
  hour: number,
  { open, ...list }: HourList<Row>,
) {
  const agency = await agencyOf(context, partnerOf(call.request));
  return sendHour(context, call, hour, { ...list, agency, content: await open(agency) });
}

/** An hour of a list, for one agency. */
interface OpenedHour<Row> extends Omit<HourList<Row>, "open"> {
  readonly agency: Agency;
  readonly content: HourContent<Row>;
}

/** Answers with an hour, or with 304. Writes the hour while it reads it. */
async function sendHour<Row>(
  context: HourContext,
  { request, reply }: HourCall,
  hour: number,
  { path, list, records, agency, content }: OpenedHour<Row>,
) {
  reply.header("content-type", MDS_MEDIA_TYPE);
  // The ETag depends on everything that determines the body, such as the fields that are left out and the boundary.
  const restrictions = `${JSON.stringify(agency.leftOut[list] ?? [])} ${agency.boundaryHash}`;
  const determinants = `${agency.providerId} ${path} ${hour} ${content.version} ${restrictions}`;
  const etag = `W/"${hash("sha1", determinants, "base64url")}"`;
  reply.header("etag", etag);
  reply.header("cache-control", "private, no-cache");
  const known = request.headers["if-none-match"];
  if (known !== undefined && fresh({ "if-none-match": known }, { etag }))
    return { status: 304 as const, body: undefined };
  const read = { endpoint: path, hour: new Date(hour).toISOString() };
  const record = () => recordRead(context, agency, callerOf(request).key.id, read);
  // HEAD takes no place among the responses, because no records are sent.
  if (request.method === "HEAD") {
    await record();
    // `as never`, here and below: the body is sent without a check by the contract's schema. Tests check it.
    return { status: 200 as const, body: "" as never };
  }
  const { systemId, partnerId } = partnerOf(request);
  const recordsOf = (row: Row) => records(row, agency).map((each) => leaveOut(agency.leftOut[list], each));
  // Takes the place before `record`: a request that gets no place must not be recorded as a read.
  const leave = context.places.take(`${systemId} ${partnerId}`);
  try {
    await record();
  } catch (error) {
    leave();
    throw error;
  }
  const document = Readable.from(documentText(list, content, recordsOf), STREAMED).once("close", leave);
  return { status: 200 as const, body: document as never };
}

/** Options of a stream that makes each part of the document only after the previous part was sent. */
const STREAMED = { objectMode: false, highWaterMark: 1 };

/** Yields the document in parts: its beginning, one part for each batch of rows that has records, and its end. */
async function* documentText<Row>(
  list: string,
  { batches }: HourContent<Row>,
  recordsOf: (row: Row) => readonly object[],
): AsyncGenerator<string> {
  yield `{"version":"${MDS_VERSION}","${list}":[`;
  let separator = "";
  for await (const rows of batches()) {
    const records = rows.flatMap(recordsOf);
    if (records.length === 0) continue;
    yield separator + records.map((each) => JSON.stringify(each)).join(",");
    separator = ",";
  }
  yield "]}";
}
