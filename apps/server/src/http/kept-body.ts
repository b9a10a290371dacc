import type { FastifyReply, FastifyRequest } from "fastify";
import fresh from "fresh";
import { type CodedBody, inParts, vary } from "./response-body.ts";

/** Sends a kept body in the best coding that the caller takes, or 304 where it has it already. */
export async function sendKept(body: CodedBody, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  vary(reply, "accept-encoding");
  reply.header("etag", body.etag);
  if (fresh({ "if-none-match": request.headers["if-none-match"] }, { etag: body.etag })) {
    return reply.code(304).removeHeader("content-type").send();
  }
  const { bytes, coding } = await body.inCoding(request.headers["accept-encoding"]?.toString());
  if (coding !== undefined) reply.header("content-encoding", coding);
  reply.header("content-length", bytes.length);
  return reply.send(request.method === "HEAD" ? bytes : inParts(bytes));
}
