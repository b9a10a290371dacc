import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createTestClock, findFreePort, type TestClock } from "@bikeshare/test-kit";
import type { Environment } from "../src/cli/environment.ts";
import { runProgram } from "../src/cli/program.ts";

/** The key that the command line gets. Its output must never contain the key. */
export const KEY = "bss_test_0123456789";

/** A request that a server got. */
export interface Received {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** The answer of a server. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A server on this machine that answers by a function, and records the requests. */
export interface TestServer {
  readonly url: string;
  readonly received: Received[];
  /** Stops listening. `listen` starts again at the same address. */
  close(): Promise<void>;
  listen(): Promise<void>;
}

export async function startServer(
  answer: (request: Received) => Reply | undefined | Promise<Reply | undefined>,
): Promise<TestServer> {
  const received: Received[] = [];
  let server: Server;
  const port = await findFreePort();
  const listen = async () => {
    server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => (body += text));
      const respond = async () => {
        const url = new URL(request.url ?? "", "http://127.0.0.1");
        const seen: Received = { method: request.method ?? "", url, headers: request.headers, body };
        received.push(seen);
        const { status = 200, headers = {}, body: said = "" } = (await answer(seen)) ?? {};
        response.writeHead(status, headers).end(typeof said === "string" ? said : JSON.stringify(said));
      };
      request.on("end", () => void respond());
    });
    await once(server.listen(port, "127.0.0.1"), "listening");
  };
  await listen();
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    listen,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Returns an answer of the service, with a rate limit that no test reaches. */
export function reply(body: unknown, status = 200): Reply {
  const headers = {
    "content-type": "application/json",
    "request-id": "req-7",
    "ratelimit-policy": `"default";q=100000;w=60`,
    ratelimit: `"default";r=99999;t=1`,
  };
  return { status, headers, body };
}

/** A run of the program. */
export interface Run {
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Returns the objects on stdout, which has one in each line. */
  readonly lines: () => Readonly<Record<string, unknown>>[];
  /** The milliseconds of each of the program's waits. */
  readonly waits: number[];
  readonly clock: TestClock;
  /** Stops the program, as SIGTERM does. */
  stop(): void;
  /** The exit status. */
  readonly ended: Promise<number>;
}

export interface RunOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly clock?: TestClock;
  /** Waits of so many milliseconds do not end until they are aborted. */
  readonly blockedWaitMs?: number;
  /** Milliseconds by which a wait ends early by the clock, unless it is shorter. */
  readonly earlyMs?: number;
}

/** Runs the program in this process. Its waits take no real time; they only move its clock. */
export function run(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { files = {}, clock = createTestClock(), blockedWaitMs, earlyMs = 0 }: RunOptions = {},
): Run {
  const written = { stdout: "", stderr: "" };
  const stopping = new AbortController();
  const waits: number[] = [];
  const environment: Environment = {
    env,
    stdout: { write: (text) => (written.stdout += text) },
    stderr: { write: (text) => (written.stderr += text) },
    clock,
    randomBytes: (size) => new Uint8Array(size).fill(1),
    wait: async (ms, signal) => {
      waits.push(ms);
      if (ms === blockedWaitMs) await once(signal, "abort");
      clock.advance(ms > earlyMs ? ms - earlyMs : ms);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      signal.throwIfAborted();
    },
    readFile: async (path) => {
      const text = files[path];
      if (text === undefined) throw new Error(`there is no ${path}`);
      return text;
    },
    stopped: stopping.signal,
  };
  return {
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    lines: () =>
      written.stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    waits,
    clock,
    stop: () => stopping.abort(),
    ended: runProgram(args, environment),
  };
}

/** Waits until something is true. */
export async function until(isTrue: () => boolean, bound = 60_000): Promise<void> {
  const start = performance.now();
  while (!isTrue()) {
    if (performance.now() - start > bound) throw new Error(`still not true after ${bound} ms`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}
