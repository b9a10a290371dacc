import { describeEnd } from "./delivery-explanation.ts";
import type { AttemptRow } from "./delivery-queries.ts";

/** Bytes as text where they are text. */
interface ShownBody {
  readonly encoding: "utf-8" | "base64";
  readonly text: string;
  /** More came than is kept. */
  readonly cut: boolean;
}

/** Why less of an answer is kept than came. */
type CutReason = NonNullable<AttemptRow["response_cut_for"]>;

/** One attempt: what went, what came, how long it took, and what followed. */
export interface Exchange extends Pick<
  AttemptRow,
  "number" | "started_at" | "outcome" | "failure" | "detail" | "url" | "remote_address" | "next_at" | "next_why"
> {
  readonly summary: string;
  /** Null where nobody can say any more what exactly went. */
  readonly request: { readonly headers: readonly HeaderPair[]; readonly body: string } | null;
  /** Null where none came. */
  readonly answer: {
    readonly status: number;
    readonly headers: readonly HeaderPair[];
    readonly body: ShownBody;
    /** Why no more of its headers and body is kept; null: nothing but the limits for every answer cut it. */
    readonly cut_for: CutReason | null;
  } | null;
  /** Milliseconds; null: it did not come to that, or a kept connection needed none. */
  readonly timings: {
    readonly dns: number | null;
    readonly connect: number | null;
    readonly tls: number | null;
    readonly first_byte: number | null;
    readonly total: number | null;
  };
}

export type HeaderPair = readonly [name: string, value: string];

/** Makes a row of the log readable. */
export function readExchange(row: AttemptRow): Exchange {
  const { number, started_at, outcome, failure, detail, url, remote_address, next_at, next_why, status } = row;
  return {
    number,
    started_at,
    outcome,
    failure,
    detail,
    url,
    remote_address,
    summary: describeEnd(row),
    request:
      row.request_headers === null ? null : { headers: readHeaders(row.request_headers), body: row.request_body ?? "" },
    answer:
      status === null
        ? null
        : {
            status,
            headers: readHeaders(row.response_headers ?? "[]"),
            body: showBody(row.response_body ?? new Uint8Array(), row.response_cut),
            cut_for: row.response_cut_for,
          },
    timings: {
      dns: row.dns_ms,
      connect: row.connect_ms,
      tls: row.tls_ms,
      first_byte: row.first_byte_ms,
      total: row.total_ms,
    },
    next_at,
    next_why,
  };
}

function readHeaders(json: string): HeaderPair[] {
  const pairs: unknown = JSON.parse(json);
  if (!Array.isArray(pairs)) return [];
  return pairs.flatMap((pair: unknown) => (Array.isArray(pair) ? [[String(pair[0]), String(pair[1])] as const] : []));
}

/** The bytes as text; as base64 where they are no UTF-8. A character that was cut through at the end is left out. */
function showBody(bytes: Uint8Array, cut: boolean): ShownBody {
  try {
    // `stream` takes an unfinished character at the end for one that is still coming.
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: cut });
    // A NUL in a text is a sign that it is none.
    if (!text.includes("\0")) return { encoding: "utf-8", text, cut };
  } catch {
    // Not UTF-8.
  }
  return { encoding: "base64", text: Buffer.from(bytes).toString("base64"), cut };
}
