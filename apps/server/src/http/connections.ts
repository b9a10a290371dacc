import { AsyncResource } from "node:async_hooks";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isLoopback, type NetworkList } from "../outbound/addresses/address-guard.ts";
import { countedAddress, parseAddress } from "./transport.ts";

/** A request and its answer, from the end of the request's head until the answer has gone out or never will. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The state of a connection. */
interface Connection {
  /** Exchanges that still owe an answer, oldest first. Ended ones are removed when the next request arrives. */
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
  /** Tells whether a request's connection is closing or closed: the answer could not be delivered. */
  readonly isClosing: (request: IncomingMessage) => boolean;
  /**
   * Calls back when a request may start. A GET waits until the answer before it on its connection has gone out, so that a
   * caller that reads nothing holds at most one long answer in our memory. Other methods start at once: their answers are
   * short. Never calls back if the connection closes first.
   */
  readonly inTurn: (request: IncomingMessage, start: () => void) => void;
  /** Ignores every request that follows this one on its connection. Its answer must say `Connection: close`. */
  readonly endAfter: (request: IncomingMessage) => void;
  /**
   * Sends the last bytes of a connection that received something other than HTTP, after the outstanding answers, and
   * closes it.
   * @param answer called when the answer is sent; not called where the client would not read it as an answer
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
/** Checks in all: 30 s, which is as long as a request may take to arrive. */
const MAX_CHECKS = 120;
/** Bytes that are read and thrown away: beyond any body that was sent by mistake. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/**
 * Requests that a caller may send ahead on one connection. Each takes some kilobytes until its turn comes. Node stops
 * reading only after the next 64 KiB, which hold two thousand requests: a caller that reads no answers would take 25 MB per
 * connection. No client sends more than a few.
 */
const MAX_UNANSWERED = 100;

/**
 * Follows the connections of a server, so that each caller receives its answer: closing a connection with unread bytes
 * resets it, and the caller may lose an answer that was already sent.
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
    // A caller that has reset the connection left no address: it would count as one that sent its key over plain HTTP from
    // elsewhere, and the key would be marked as compromised. Nobody is there to read an answer.
    const isGone = request.socket.remoteAddress === undefined;
    if (!isGone && connection.exchanges.length <= MAX_UNANSWERED) return;
    connection.closing = true;
    request.socket.destroy();
  });
  return {
    isClosing: (request) => {
      const { closing = false, finalRequest } = connections.get(request.socket) ?? {};
      return closing || (finalRequest !== undefined && finalRequest !== request);
    },
    inTurn: (request, start) => {
      const { exchanges = [] } = connections.get(request.socket) ?? {};
      const before = exchanges[exchanges.findIndex((exchange) => exchange.request === request) - 1];
      if (request.method !== "GET" || before === undefined || !isOwed(before)) return start();
      // Otherwise it would start in the context of the request before.
      const startLater = AsyncResource.bind(start);
      before.response.once("close", () => {
        // Not at once: answers that need no waiting would follow each other, and meanwhile nobody else's request is read.
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

function isOwed({ response }: Exchange): boolean {
  return !response.closed;
}

/** Replaces `destroySoon`, by which Node closes a connection after an answer that announces it. */
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
  // Node calls this again for each further piece of invalid HTTP: answer only once.
  if (connection.closing) return;
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  connection.closing = true;
  const { latest } = connection;
  // The error lies in the body of the latest request, or behind it.
  const isInBody = latest !== undefined && !latest.request.complete;
  const wasAnswered = isInBody && latest.response.headersSent;
  const owed = connection.exchanges.filter((each) => isOwed(each) && each.request.complete).at(-1);
  const close = () => {
    if (!socket.writable) return void socket.destroy();
    socket.end(wasAnswered ? "" : answer());
    linger(socket, connection, { isOver: () => false, end: () => socket.destroy() });
  };
  if (owed === undefined) close();
  else owed.response.once("close", close);
}

/** Ends our side of a connection, and discards further input within bounds. */
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
 * The default maximum of simultaneous connections. Each takes up to about 64 KiB, mostly answers that its caller has not
 * read yet. Too low: a busy day's callers are rejected. Too high: callers that do not read take memory that the service
 * needs.
 */
export const DEFAULT_MAX_CONNECTIONS = 4096;

/**
 * The part of all connections that one address may have: enough for any caller, and too little to keep the others
 * out. Proxies that are trusted bring everybody's requests, and this machine's own callers are ours: neither is bound.
 */
const SHARE_OF_ONE_ADDRESS = 10;

/** Closes connections beyond a number of them in all, and beyond a tenth of it from one address, as they come. */
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
      const left = (open.get(counted) ?? 1) - 1;
      if (left === 0) open.delete(counted);
      else open.set(counted, left);
    });
    if (count > mostOfOne) socket.destroy();
  });
}
