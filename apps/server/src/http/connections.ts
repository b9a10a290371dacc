import { AsyncResource } from "node:async_hooks";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isLoopback, type NetworkList } from "../outbound/addresses/address-guard.ts";
import { countedAddress, parseAddress } from "./transport.ts";

/* Ends connections without losing answers, and limits the number of connections and of requests that wait on one. */

/** A request and its answer, from the end of the request's headers until the answer was sent or the connection closed. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The state of a connection. */
interface Connection {
  /** Exchanges, oldest first. Those that owe no answer any more (`isOwed`) are removed when the next request arrives. */
  exchanges: Exchange[];
  /** The exchange that arrived last. */
  latest: Exchange | undefined;
  /** Whether further bytes are discarded instead of read as requests. */
  closing: boolean;
  /** The request after which the connection takes no other (`endAfter`). */
  finalRequest: IncomingMessage | undefined;
}

/** The connections of a server, and how they end. */
export interface Connections {
  /**
   * Tells whether a request is not to be handled: its connection is being closed, or takes no request after an earlier one
   * (`endAfter`). Nobody would receive the answer.
   */
  readonly isClosing: (request: IncomingMessage) => boolean;
  /**
   * Calls `start` when a request may start. A GET waits until the previous answer on its connection was sent, so that a
   * caller that reads nothing keeps at most one long answer in our memory. Other methods start at once, because their
   * answers are short. Never calls `start` if the connection closes first.
   */
  readonly inTurn: (request: IncomingMessage, start: () => void) => void;
  /** Ignores every later request on the connection of this request, whose answer must say `Connection: close`. */
  readonly endAfter: (request: IncomingMessage) => void;
  /**
   * Sends the last bytes of a connection that received something other than HTTP, after the outstanding answers, and
   * closes it.
   * @param answer returns the last bytes; not called if the request with the invalid bytes was answered already
   */
  readonly refuse: (socket: Socket, answer: () => string) => void;
}

/** Milliseconds between two checks of a connection that is being closed. */
const CHECK_INTERVAL_MS = 250;
/**
 * Consecutive checks without received bytes after which the connection is closed: 5 s. Too low: a sender on a slow line
 * never reads our answer.
 */
const MAX_IDLE_CHECKS = 20;
/** The most checks of one connection: 30 s, which is as long as a request may take to arrive. */
const MAX_CHECKS = 120;
/**
 * The most bytes of a closing connection that are read and discarded, so that its caller reads our answer. Too low: a caller
 * that sends a large file loses the answer. Too high: such callers use up our bandwidth.
 */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/**
 * The most requests that a caller may send on one connection before it reads the answers. Each waiting request takes some
 * kilobytes. Node stops reading only after the next 64 KiB, which hold two thousand requests, so that a caller that reads no
 * answers would take 25 MB for each connection. Real clients send only a few.
 */
const MAX_UNANSWERED = 100;

/**
 * Follows the connections of a server and closes them so that each caller receives its answer. To close a connection
 * that has unread bytes would reset it, and the caller could lose an answer that was already sent. The server's
 * `timeout` closes a connection on which nothing has moved, but not while an answer is being made.
 */
export function followConnections(server: Server): Connections {
  const connections = new WeakMap<Socket, Connection>();
  const connectionOf = (socket: Socket): Connection => {
    let connection = connections.get(socket);
    if (connection === undefined) {
      connection = { exchanges: [], latest: undefined, closing: false, finalRequest: undefined };
      connections.set(socket, connection);
      lingerWhenClosed(socket, connection);
    }
    return connection;
  };
  server.prependListener("request", (request, response) => {
    const connection = connectionOf(request.socket);
    const exchange = { request, response };
    connection.latest = exchange;
    // Removed here, because a listener for the end of each response costs more than this filter.
    connection.exchanges = connection.exchanges.filter(isOwed);
    connection.exchanges.push(exchange);
    // If the caller has reset the connection, its address is unknown. The request must not be handled: its key might be
    // marked as compromised, as one sent over plain HTTP from elsewhere, and nobody would read the answer.
    const isGone = request.socket.remoteAddress === undefined;
    if (!isGone && connection.exchanges.length <= MAX_UNANSWERED) return;
    connection.closing = true;
    request.socket.destroy();
  });
  // Replaces Node's handling of the timeout, which destroys the socket in any case.
  server.on("timeout", (socket: Socket) => {
    const connection = connections.get(socket);
    if (connection === undefined || !isMakingAnswer(connection)) socket.destroy();
  });
  return {
    isClosing: (request) => {
      const { closing = false, finalRequest } = connections.get(request.socket) ?? {};
      return closing || (finalRequest !== undefined && finalRequest !== request);
    },
    inTurn: (request, start) => {
      const { exchanges = [] } = connections.get(request.socket) ?? {};
      // Undefined for the first exchange of the connection.
      const before = exchanges[exchanges.findIndex((exchange) => exchange.request === request) - 1];
      if (request.method !== "GET" || before === undefined || !isOwed(before)) return start();
      // `bind` keeps the asynchronous context of this request; otherwise it would start in that of the previous one.
      const startLater = AsyncResource.bind(start);
      before.response.once("close", () => {
        // Starts in a later pass of the event loop, so that the requests of other connections are read in between.
        setImmediate(() => {
          if (!request.socket.destroyed) startLater();
        });
      });
    },
    endAfter: (request) => {
      connectionOf(request.socket).finalRequest = request;
    },
    refuse: (socket, answer) => refuse(socket, connectionOf(socket), answer),
  };
}

/** Tells whether an answer is neither sent nor lost with its connection. */
function isOwed({ response }: Exchange): boolean {
  return !response.closed;
}

/**
 * Tells whether the next answer is still being made: its whole request has arrived, and nothing of the answer is sent.
 */
function isMakingAnswer({ exchanges, closing }: Connection): boolean {
  const next = exchanges.find(isOwed);
  return next !== undefined && !closing && next.request.complete && !next.response.headersSent;
}

/**
 * Replaces `destroySoon`, which Node calls to close a connection after an answer with `Connection: close`. The replacement
 * first reads the rest of the request's body.
 */
function lingerWhenClosed(socket: Socket, connection: Connection): void {
  const destroySoon = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    const request = connection.latest?.request;
    if (request === undefined || request.complete || connection.closing) return destroySoon();
    // Discards the rest of the body.
    request.resume();
    linger(socket, connection, { isOver: () => request.complete, end: destroySoon });
  };
}

function refuse(socket: Socket, connection: Connection, answer: () => string): void {
  // Node reports each further piece of invalid HTTP, but it is answered only once.
  if (connection.closing) return;
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  connection.closing = true;
  const { latest } = connection;
  // The invalid bytes are in the body of the latest request, or after it.
  const isInBody = latest !== undefined && !latest.request.complete;
  const wasAnswered = isInBody && latest.response.headersSent;
  // The last of the answers that the caller still waits for. The last bytes are sent after it.
  const owed = connection.exchanges.filter((each) => isOwed(each) && each.request.complete).at(-1);
  const close = () => {
    if (!socket.writable) return void socket.destroy();
    socket.end(wasAnswered ? "" : answer());
    linger(socket, connection, { isOver: () => false, end: () => socket.destroy() });
  };
  if (owed === undefined) close();
  else owed.response.once("close", close);
}

/** Ends our side of a connection, and discards further input up to the limits above. */
function linger(
  socket: Socket,
  connection: Connection,
  { isOver, end }: { readonly isOver: () => boolean; readonly end: () => void },
): void {
  connection.closing = true;
  if (socket.writable) socket.end();
  socket.resume();
  const start = socket.bytesRead;
  let seen = start;
  let idle = 0;
  let checks = 0;
  const finish = () => {
    clearInterval(timer);
    end();
  };
  const timer = setInterval(() => {
    checks++;
    idle = socket.bytesRead === seen ? idle + 1 : 0;
    seen = socket.bytesRead;
    const isSpent = idle >= MAX_IDLE_CHECKS || checks >= MAX_CHECKS || seen - start > MAX_DISCARDED_BYTES;
    if (socket.destroyed) clearInterval(timer);
    else if (isOver()) finish();
    else if (isSpent) {
      clearInterval(timer);
      socket.destroy();
    }
  }, CHECK_INTERVAL_MS).unref();
  socket.once("end", finish);
}

/**
 * The default maximum of simultaneous connections. Each usually takes at most 64 KiB, mostly for answers that its caller has
 * not read yet; a body that arrives takes up to 1 MiB. Too low: callers are rejected on a busy day. Too high: callers that
 * do not read take memory that the service needs.
 */
export const DEFAULT_MAX_CONNECTIONS = 4096;

/**
 * One address may have a tenth of all connections: enough for any caller, and too few to keep others out. Not limited are
 * trusted proxies, which pass on the requests of many callers, and callers on this machine.
 */
const SHARE_OF_ONE_ADDRESS = 10;

/** Closes new connections beyond `maxConnections` in all, and beyond a tenth of that from one address. */
export function limitConnections(
  server: Server,
  { maxConnections, trustedProxies }: { readonly maxConnections: number; readonly trustedProxies: NetworkList },
): void {
  server.maxConnections = maxConnections;
  const mostOfOne = Math.ceil(maxConnections / SHARE_OF_ONE_ADDRESS);
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const address = parseAddress(socket.remoteAddress ?? "");
    if (address === undefined || isLoopback(address) || trustedProxies.includes(address)) return;
    const counted = countedAddress(address);
    const count = (open.get(counted) ?? 0) + 1;
    open.set(counted, count);
    socket.once("close", () => {
      // The number is never undefined: this connection was counted above.
      const left = (open.get(counted) ?? 1) - 1;
      if (left === 0) open.delete(counted);
      else open.set(counted, left);
    });
    if (count > mostOfOne) socket.destroy();
  });
}
