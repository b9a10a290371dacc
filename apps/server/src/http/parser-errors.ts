import type { Server } from "node:http";
import type { Socket } from "node:net";
import { errorMessage } from "@bikeshare/contract";
import { codeOf } from "../storage/db/errors.ts";
import type { Connections } from "./connections.ts";
import { errorJson } from "./errors.ts";

// Not by an import, for which Node loads its HTTP client too: 20 ms of every start.
const { maxHeaderSize, STATUS_CODES } = process.getBuiltinModule("node:http");

/** Answers what Node's HTTP parser refuses, before there is a request: oversized headers, broken syntax, time-outs. */
export function createParserErrorHandler(
  nextRequestId: () => string,
): (connections: Connections, error: Error, socket: Socket) => void {
  return (connections, error, socket) => {
    const code = codeOf(error);
    if (code === "ECONNRESET") return void socket.destroy();
    // Browsers open spare connections before they need them. An answer on one that has asked nothing would be read as the
    // answer to the next request; one that is merely closed makes them use another.
    if (code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.bytesRead === 0) return void socket.destroy();
    connections.refuse(socket, () => answer(parserMessage(code), nextRequestId(), { hasBody: !isHead(error) }));
  };
}

/** Answers CONNECT, which Node hands over as a bare connection. */
export function answerConnect(server: Server, connections: Connections, nextRequestId: () => string): void {
  server.on("connect", (_request, socket: Socket) => {
    connections.refuse(socket, () =>
      answer(errorMessage("invalid_request", "connect"), nextRequestId(), { hasBody: true }),
    );
  });
}

function answer(message: string, requestId: string, { hasBody }: { readonly hasBody: boolean }): string {
  const body = errorJson("invalid_request", message);
  return [
    `HTTP/1.1 400 ${STATUS_CODES[400]}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Request-Id: ${requestId}`,
    "X-Content-Type-Options: nosniff",
    "Connection: close",
    "",
    hasBody ? body : "",
  ].join("\r\n");
}

/** Whether the request that could not be read is a HEAD, as far as the bytes that came last tell. */
function isHead(error: Error): boolean {
  const { rawPacket, bytesParsed } = error as { rawPacket?: unknown; bytesParsed?: unknown };
  if (!Buffer.isBuffer(rawPacket)) return false;
  const read = rawPacket.toString("latin1", 0, Number(bytesParsed ?? rawPacket.length));
  const requestLine = read.split(/\r?\n/).findLast((line) => /^[A-Z]+ /.test(line));
  return requestLine?.startsWith("HEAD ") === true;
}

function parserMessage(code: string | undefined): string {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return errorMessage("invalid_request", "headersTooLarge", { limit: `${maxHeaderSize / 1024} KiB` });
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return errorMessage("invalid_request", "chunkExtensionsTooLarge");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return errorMessage("invalid_request", "tooSlow");
    default:
      return errorMessage("invalid_request", "notHttp");
  }
}
