import { Readable } from "node:stream";
import { ServiceError, serviceError } from "@bikeshare/rules";
import { signSync, standardHeadersSync } from "@bikeshare/webhooks/node";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { type PartnerScope, recordEndpointAct } from "../endpoints/endpoint-context.ts";
import { findEndpoint } from "../endpoints/endpoint-queries.ts";
import { listActiveSecrets } from "../endpoints/secret-queries.ts";
import type { SecretCipher } from "../endpoints/secret.ts";
import {
  type DeliveryListInput,
  type DeliveryPage,
  type DeliveryView,
  listDeliveries,
  MAX_DELIVERIES,
  type ReadContext,
  showDelivery,
} from "./deliveries.ts";
import type { Exchange, HeaderPair } from "./delivery-view.ts";
import type { DeliveryPosition } from "./search-sql-fragments.ts";

/* Deliveries as texts for other programs: a curl command, a CSV file. */

export interface CurlInput extends PartnerScope {
  readonly deliveryId: string;
  /** `localhost`: a receiver that somebody develops on their own machine. */
  readonly to: "endpoint" | "localhost";
  /** The number of the attempt; by default the latest whose request is known. */
  readonly attempt?: number | undefined;
}

/** Where a developer's receiver is expected. A button of the dashboard names this port. */
const LOCALHOST = "http://localhost:3000";
/** Headers that curl adds by itself, and those that hold for the original attempt only. */
const LEFT_OUT =
  /^(host|connection|content-length|transfer-encoding|service-signature|webhook-(id|timestamp|signature))$/i;

/**
 * Returns an attempt as a curl command, without a signature.
 * @throws ServiceError when there is no such delivery or attempt, or what was sent is not known
 */
export async function curlOf(context: ReadContext, input: CurlInput): Promise<string> {
  return curlCommand((await sentExchange(context, input)).exchange, input.to, []);
}

/**
 * Like `curlOf`, signed now with every active secret. A receiver accepts the command for some minutes, so the audit log
 * records who asked for it. The secret itself is not in the command.
 * @throws ServiceError as `curlOf` does, and when the endpoint has no secret because it was removed
 */
export async function signedCurlOf(
  context: ActorContext & { readonly cipher: SecretCipher },
  input: CurlInput,
): Promise<string> {
  const { db, clock, cipher } = context;
  const { systemId, deliveryId } = input;
  const { exchange, endpointId } = await sentExchange(context, input);
  const endpoint = await findEndpoint(db, systemId, endpointId);
  const rows = await listActiveSecrets(db, systemId, endpoint.id, new Date(clock()));
  const secrets = rows.map(({ id, encrypted }) =>
    cipher.decrypt({ systemId, endpointId: endpoint.id, secretId: id }, encrypted),
  );
  if (secrets.length === 0) throw commandError("conflict", "endpointRemoved", { partnerId: input.partnerId });
  const timestamp = Math.floor(clock() / 1000);
  const { body } = exchange.request;
  const standard =
    endpoint.signature === "both" ? standardHeadersSync({ id: deliveryId, timestamp, body, secrets }) : [];
  const signature: HeaderPair = ["Service-Signature", signSync({ body, secrets, timestamp })];
  await db.transaction((tx) =>
    recordEndpointAct(context, tx, systemId, "webhook.signed_copy", endpoint.id, { delivery_id: deliveryId }),
  );
  return curlCommand(exchange, input.to, [signature, ...standard]);
}

type SentExchange = Exchange & { readonly request: NonNullable<Exchange["request"]> };

async function sentExchange(
  context: ReadContext,
  { deliveryId, attempt, ...scope }: CurlInput,
): Promise<{ readonly exchange: SentExchange; readonly endpointId: string }> {
  const { exchanges, endpoint_id: endpointId } = await showDelivery(context, scope, deliveryId);
  const sent = exchanges.filter((exchange): exchange is SentExchange => exchange.request !== null);
  const exchange = attempt === undefined ? sent.at(-1) : sent.find(({ number }) => number === attempt);
  if (exchange === undefined) throw serviceError("not_found", "sentAttempt");
  return { exchange, endpointId };
}

function curlCommand({ url, request }: SentExchange, to: CurlInput["to"], signature: readonly HeaderPair[]): string {
  const { pathname, search } = new URL(url);
  const target = to === "localhost" ? `${LOCALHOST}${pathname}${search}` : url;
  const headers = [...request.headers.filter(([name]) => !LEFT_OUT.test(name)), ...signature];
  return [
    `curl -i -X POST ${quoted(target)}`,
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `--data-binary ${quoted(request.body)}`,
  ].join(" \\\n  ");
}

/**
 * Returns a text as one word of a POSIX shell, whatever it contains. (curl would read a body that begins with `@` from a
 * file; the bodies are JSON objects.)
 */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Maximum rows of one file. A partner's program that needs more can page through `GET /v1/deliveries`. */
const MAX_CSV_ROWS = 10_000;
/**
 * Maximum pages in one CSV file. A selective filter reads MAX_SEARCHED_ROWS rows for each page and fills none. Too low:
 * an export of a million deliveries needs several files. Too high: one file takes minutes.
 */
const MAX_CSV_PAGES = 100;
/**
 * Maximum attempts to read one page while the service is busy, some seconds each. After them the file ends without the page.
 */
const MAX_PAGE_ATTEMPTS = 3;

const columns = [
  "id",
  "event",
  "resource_id",
  "created_at",
  "status",
  "attempts",
  "latest_code",
  "latest_failure",
  "next_attempt_at",
  "finished_at",
  "explanation",
  "endpoint_name",
] as const satisfies readonly (keyof DeliveryView)[];

/**
 * Returns a list as CSV, page by page: it reads the next page when the previous one was sent. The last record of an
 * incomplete file says so, and how far the search went.
 */
export function deliveriesCsv(
  context: ReadContext,
  input: Omit<DeliveryListInput, "after" | "limit">,
  bounds: Partial<CsvBounds> = {},
): Readable {
  return Readable.from(pagesOf(context, input, { maxRows: MAX_CSV_ROWS, maxPages: MAX_CSV_PAGES, ...bounds }), {
    objectMode: false,
    highWaterMark: 1,
  });
}

interface CsvBounds {
  readonly maxRows: number;
  readonly maxPages: number;
}

async function* pagesOf(
  context: ReadContext,
  input: DeliveryListInput,
  { maxRows, maxPages }: CsvBounds,
): AsyncGenerator<string> {
  yield csvLine(columns);
  let rows = 0;
  let after: DeliveryPosition | undefined;
  for (let page = 0; page < maxPages && rows < maxRows; page++) {
    const limit = Math.min(MAX_DELIVERIES, maxRows - rows);
    const found = await pageOf(context, { ...input, after, limit });
    if (found === undefined) break;
    const { deliveries, next } = found;
    if (deliveries.length > 0)
      yield deliveries.map((row) => csvLine(columns.map((name) => textOf(row[name])))).join("");
    rows += deliveries.length;
    if (next === null) return;
    after = next;
  }
  yield csvLine([incomplete(after)]);
}

/** Returns a page; undefined: the service is too busy. */
async function pageOf(context: ReadContext, input: DeliveryListInput): Promise<DeliveryPage | undefined> {
  for (let attempt = 1; attempt <= MAX_PAGE_ATTEMPTS; attempt++) {
    try {
      return await listDeliveries(context, input);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "unavailable") throw error;
    }
  }
  return undefined;
}

function incomplete(after: DeliveryPosition | undefined): string {
  const at = after === undefined ? "" : ` created before ${after.created_at.toISOString()}`;
  return `Incomplete: deliveries${at} were not looked at. Export them by a filter of time.`;
}

function textOf(value: DeliveryView[keyof DeliveryView]): string {
  if (value === null) return "";
  return value instanceof Date ? value.toISOString() : String(value);
}

/** One record of RFC 4180. */
function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** Returns a text as a cell of CSV. Puts an apostrophe before a text that a spreadsheet would run as a formula. */
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
