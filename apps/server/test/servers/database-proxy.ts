import { connect, createServer, type Socket } from "node:net";
import { Transform } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { callbackify } from "node:util";
import { findFreePort } from "@bikeshare/test-kit";

/** A proxy between the service and its database, which simulates faults of the network. */
export interface TcpProxy {
  readonly port: number;
  /** Cuts every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts connections again. */
  mend(): Promise<void>;
  /** Stops passing bytes over one connection, without closing it. @param connection its number by opening, from 0 */
  freeze(connection: number): void;
  /** Stops passing bytes over all existing connections, like a firewall that has forgotten them. */
  forget(): void;
  /** Delays all bytes in both directions from now on. */
  delay(milliseconds: number): void;
  /** Holds back all bytes and new connections until `resume`. */
  stall(): void;
  resume(): void;
  /** Returns the number of open connections. */
  connections(): number;
  /** Drops PostgreSQL's notifications and passes everything else, like a connection pooler in transaction mode. */
  dropNotifications(): void;
  /** Drops only the notifications of one channel, as if they were late. */
  dropNotificationsOf(channel: string): void;
  close(): Promise<void>;
}

/** Starts a proxy on loopback in front of an address. */
async function startTcpProxy(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
  const pairs: [Socket, Socket][] = [];
  const forgotten: Socket[] = [];
  let isDropped: (message: Buffer) => boolean = () => false;
  const line = createLine();
  const server = createServer((inner) => {
    const outer = connect(target);
    pairs.push([inner, outer]);
    inner.pipe(line.direction()).pipe(outer);
    outer
      .pipe(withoutNotifications((message) => isDropped(message)))
      .pipe(line.direction())
      .pipe(inner);
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  // A fixed free port instead of port 0: while the proxy does not listen, the system could give its port to another process.
  const port = await findFreePort();
  const listen = () =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
  await listen();
  const cut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of [...pairs.splice(0).flat(), ...forgotten.splice(0)]) socket.destroy();
    });
  return {
    port,
    cut,
    mend: listen,
    freeze: (connection) => {
      for (const socket of pairs[connection] ?? []) socket.unpipe().pause();
    },
    forget: () => {
      for (const socket of pairs.splice(0).flat()) forgotten.push(socket.unpipe().pause());
    },
    ...line.control,
    connections: () => pairs.filter(([inner]) => !inner.destroyed).length,
    dropNotifications: () => void (isDropped = () => true),
    // A notification consists of kind, length, process id of the sender, and then the channel, which ends with a zero byte.
    dropNotificationsOf: (channel) =>
      void (isDropped = (message) => message.subarray(9, message.indexOf(0, 9)).toString() === channel),
    close: () => (server.listening ? cut() : Promise.resolve()),
  };
}

/** Creates the simulated line between both sides, which can be slow or blocked. */
function createLine() {
  let delayMs = 0;
  let held: Promise<void> | undefined;
  let release: () => void = () => undefined;
  return {
    /**
     * Returns a stream that passes bytes on in order. The delay applies to each part by itself: parts under way do not add
     * up.
     */
    direction() {
      let last: Promise<void> = Promise.resolve();
      return new Transform({
        transform(chunk: Buffer, _encoding, done) {
          const late = delayMs > 0 ? sleep(delayMs) : undefined;
          last = Promise.all([last, late, held]).then(() => void this.push(chunk));
          done();
        },
        flush: callbackify(() => last),
      });
    },
    control: {
      delay: (milliseconds: number) => void (delayMs = milliseconds),
      stall() {
        const stalled = Promise.withResolvers<void>();
        held = stalled.promise;
        release = stalled.resolve;
      },
      resume() {
        held = undefined;
        release();
      },
    },
  };
}

const NOTIFICATION = "A".charCodeAt(0);

/**
 * Passes on PostgreSQL's messages except dropped notifications. A message has one byte for its kind, four for its length,
 * and the rest.
 */
function withoutNotifications(isDropped: (message: Buffer) => boolean): Transform {
  let pending = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= 5) {
        const length = 1 + pending.readUInt32BE(1);
        if (pending.length < length) break;
        const message = pending.subarray(0, length);
        if (!(message[0] === NOTIFICATION && isDropped(message))) this.push(message);
        pending = pending.subarray(length);
      }
      done();
    },
  });
}

/** Starts a proxy in front of a PostgreSQL server. @returns the proxy, with a connection string that leads through it */
export async function startDatabaseProxy(
  connectionString: string,
): Promise<TcpProxy & { readonly connectionString: string }> {
  const url = new URL(connectionString);
  const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.hostname = "127.0.0.1";
  url.port = String(proxy.port);
  // The Unix socket of a test's database, which would lead past the proxy.
  url.searchParams.delete("host");
  return { ...proxy, connectionString: url.href };
}
