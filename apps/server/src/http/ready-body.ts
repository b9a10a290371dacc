import { etagOf } from "./conditional.ts";

/** A body that is kept to be sent many times: its bytes and their tag, made once. */
export interface ReadyBody {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Makes a body ready. */
export function readyBody(body: string | Buffer): ReadyBody {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  return { bytes, etag: etagOf(bytes) };
}

/** What of a reply is needed here; Fastify's own type differs between its versions, and ts-rest hands over the older. */
interface HeaderWriter {
  header(name: string, value: string): unknown;
}

/** Sets what an answer with a ready body needs; gives the body to send. */
export function useReadyBody<Body>(reply: HeaderWriter, { bytes, etag }: ReadyBody): Body {
  reply.header("etag", etag);
  reply.header("content-type", "application/json");
  // ts-rest passes bytes through untouched; the tests hold them against the contract's schema.
  return bytes as unknown as Body;
}
