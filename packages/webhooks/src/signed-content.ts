import { bytesOf, type RawBody } from "./raw-body.ts";

/**
 * What is signed: the time, a dot and the body. Always a copy, so that what is verified is what is read afterwards,
 * whatever happens to the caller's buffer in between.
 *
 * @param time unix seconds as they stand in the header
 */
export function signedContent(time: string, body: RawBody): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  if (typeof body === "string") return encoder.encode(`${time}.${body}`);
  const head = encoder.encode(`${time}.`);
  const bytes = bytesOf(body);
  const content = new Uint8Array(head.length + bytes.length);
  content.set(head);
  content.set(bytes, head.length);
  return content;
}
