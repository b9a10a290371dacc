import { connect, createServer, type Socket } from "node:net";
import { Transform } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { callbackify } from "node:util";
import { findFreePort } from "@bikeshare/test-kit";

/** Stands between the service and its database, so that the database can go away and come back. */
export interface TcpProxy {
  readonly port: number;
  /** Cuts every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Takes connections again. */
  mend(): Promise<void>;
  /** Lets nothing pass any more over the n-th connection made, without closing it. */
  freeze(connection: number): void;
  /** Lets nothing pass any more over the connections that there are, as a firewall does that has forgotten them. */
  forget(): void;
  /** Passes everything on so many milliseconds late, in both directions, from now on. */
  delay(milliseconds: number): void;
  /** Keeps back everything in both directions, and has connections wait, until `resume`. */
  stall(): void;
  resume(): void;
  /** Connections that are open. */
  connections(): number;
  /** Lets pass everything that PostgreSQL says but notifications, as a pooler does that gives out connections by transaction. */
  dropNotifications(): void;
  /** Lets pass everything but the notifications of one channel, as if they were late. */
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
  // Not one that the system gives: while the proxy takes no connections it could give it to another.
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
    // After the kind, the length and the sender's process id comes the channel, which a zero byte ends.
    dropNotificationsOf: (channel) =>
      void (isDropped = (message) => message.subarray(9, message.indexOf(0, 9)).toString() === channel),
    close: () => (server.listening ? cut() : Promise.resolve()),
  };
}

/** What is between the two sides: it may be slow, or let nothing pass. */
function createLine() {
  let delayMs = 0;
  let held: Promise<void> | undefined;
  let release: () => void = () => undefined;
  return {
    /** Passes bytes on in their order; a delay is one of the way, not of each part that is under way on it. */
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

/** Passes on what PostgreSQL sends, message by message: a byte that says its kind, four of its length, the rest. */
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

/** A proxy in front of the server of a connection string, and the connection string that leads through it. */
export async function startDatabaseProxy(
  connectionString: string,
): Promise<TcpProxy & { readonly connectionString: string }> {
  const url = new URL(connectionString);
  const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.hostname = "127.0.0.1";
  url.port = String(proxy.port);
  return { ...proxy, connectionString: url.href };
}
