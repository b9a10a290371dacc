import { hash } from "node:crypto";
import { Readable } from "node:stream";
import { MDS_MEDIA_TYPE, MDS_VERSION } from "@bikeshare/contract/mds";
import type { FastifyRequest } from "fastify";
import fresh from "fresh";
import type { ActorContext } from "../../command-context.ts";
import { callerOf, partnerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import { mdsErrorJson } from "../../http/errors.ts";
import { leaveOut, type RecordList } from "./left-out.rules.ts";
import type { RecordContext } from "./records.rules.ts";
import { type Agency, agencyOf, type AgencyReads, recordRead, type SettledHour } from "./service.ts";

export interface HourContext extends AgencyReads, Omit<ActorContext, "actor"> {}

/**
 * The part of a reply that is needed here. Fastify's own type differs between its versions, and ts-rest hands over the
 * older.
 */
export interface HeaderWriter {
  header(name: string, value: string): unknown;
}

interface HourCall {
  readonly request: FastifyRequest;
  readonly reply: HeaderWriter;
}

/** A list of which agencies read whole hours. */
interface HourList<Row, Opened = SettledHour<Row>> {
  readonly path: string;
  /** The name of the list in the document. */
  readonly list: RecordList;
  readonly open: (agency: Agency) => Promise<Opened>;
  /** Returns what agencies see of a row. */
  readonly records: (row: Row, context: RecordContext) => readonly object[];
}

/**
 * Answers with an hour of a list: 202 until it is settled, 304 to who has it. Each reading is in the audit log.
 * @param list its `open` returns undefined of an hour that is not settled
 */
export async function answerHour<Row>(
  context: HourContext,
  call: HourCall,
  hour: number,
  { open, ...list }: HourList<Row, SettledHour<Row> | undefined>,
) {
  const agency = await agencyOf(context, partnerOf(call.request));
  const settled = await open(agency);
  if (settled !== undefined) return sendHour(context, call, hour, { ...list, agency, settled });
  call.reply.header("content-type", MDS_MEDIA_TYPE);
  return { status: 202 as const, body: jsonBody<never>(NOT_SETTLED) };
}

/** Answers with an hour of a list whatever hour it is: 304 to who has it. Each reading is in the audit log. */
export async function answerAnyHour<Row>(
  context: HourContext,
  call: HourCall,
  hour: number,
  { open, ...list }: HourList<Row>,
) {
  const agency = await agencyOf(context, partnerOf(call.request));
  return sendHour(context, call, hour, { ...list, agency, settled: await open(agency) });
}

interface OpenedHour<Row> extends Omit<HourList<Row>, "open"> {
  readonly agency: Agency;
  readonly settled: SettledHour<Row>;
}

async function sendHour<Row>(
  context: HourContext,
  { request, reply }: HourCall,
  hour: number,
  { path, list, records, agency, settled }: OpenedHour<Row>,
) {
  reply.header("content-type", MDS_MEDIA_TYPE);
  const given = `${JSON.stringify(agency.leftOut[list] ?? [])} ${agency.boundaryHash}`;
  const sent = `${agency.providerId} ${path} ${hour} ${settled.version} ${given}`;
  const etag = `W/"${hash("sha1", sent, "base64url")}"`;
  reply.header("etag", etag);
  reply.header("cache-control", "private, no-cache");
  const known = request.headers["if-none-match"];
  if (known !== undefined && fresh({ "if-none-match": known }, { etag }))
    return { status: 304 as const, body: undefined };
  const read = { endpoint: path, hour: new Date(hour).toISOString() };
  await recordRead(context, agency, callerOf(request).key.id, read);
  const document = () =>
    Readable.from(
      documentText(list, settled, (row) => records(row, agency).map((each) => leaveOut(agency.leftOut[list], each))),
      STREAMED,
    );
  // Text and streams are sent as they are; tests compare them with the contract's schema.
  return { status: 200 as const, body: (request.method === "HEAD" ? "" : document()) as never };
}

const NOT_SETTLED = mdsErrorJson(
  "hour_not_settled",
  "The hour is not settled: reports of it may still arrive. Ask again an hour after its end.",
);

/** A part of the document is made when the one before was taken. */
const STREAMED = { objectMode: false, highWaterMark: 1 };

async function* documentText<Row>(
  list: string,
  { batches }: SettledHour<Row>,
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
