import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { answer } from "./receiver.fixture.ts";
import { openReceiver, openSender, post, shortLimits, until } from "./sender-room.fixture.ts";

/** Timers and a busy machine; the product's own bound is 15 s + 0.5 s. */
const SLACK_MS = 400;

/** Writes for as long as the far side takes it, never more than it takes. */
function writeForEver(socket: Socket, chunk: string | Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on("drain", more);
  more();
}

/** Writes one piece every few milliseconds. */
function trickle(socket: Socket, piece: string): void {
  const timer = setInterval(() => socket.write(piece), 5);
  socket.once("close", () => clearInterval(timer));
}

const head = "HTTP/1.1 200 OK\r\n";
const early = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
const bomb = gzipSync(Buffer.alloc(50_000_000));

interface Evil {
  readonly act?: (socket: Socket) => void;
  readonly onConnect?: (socket: Socket) => void;
  readonly result: Record<string, unknown>;
}

const failed = (failure: string, more: Record<string, unknown> = {}) => ({ outcome: "failed", failure, ...more });

const receivers: Record<string, Evil> = {
  "says nothing": { act: () => {}, result: failed("timeout", { status: null }) },
  "stops within the status line": { act: (socket) => socket.write("HTTP/1.1 2"), result: failed("timeout") },
  "stops within the headers": { act: (socket) => socket.write(`${head}X: 1\r\n`), result: failed("timeout") },
  "sends headers byte by byte": { act: (socket) => trickle(socket, "x"), result: failed("protocol") },
  "sends one endless header byte by byte": {
    act: (socket) => {
      socket.write(`${head}X: `);
      trickle(socket, "x");
    },
    result: failed("timeout"),
  },
  "stops before the body": {
    act: (socket) => socket.write(`${head}Content-Length: 5\r\n\r\n`),
    result: failed("body_timeout", { status: 200 }),
  },
  "stops within the body": {
    act: (socket) => socket.write(`${head}Content-Length: 5\r\n\r\nab`),
    result: failed("body_timeout", { status: 200, answerBody: new Uint8Array([97, 98]) }),
  },
  "sends the body byte by byte": {
    act: (socket) => {
      socket.write(`${head}\r\n`);
      trickle(socket, "x");
    },
    result: failed("body_timeout", { status: 200, answerCut: false }),
  },
  "sends a body without end": {
    act: (socket) => {
      socket.write(`${head}\r\n`);
      writeForEver(socket, "x".repeat(65_536));
    },
    result: { outcome: "succeeded", status: 200, answerCut: true },
  },
  "sends a body without end to say no": {
    act: (socket) => {
      socket.write("HTTP/1.1 500 No\r\n\r\n");
      writeForEver(socket, "x".repeat(65_536));
    },
    result: { outcome: "rejected", status: 500, answerCut: true },
  },
  "announces 10 GB": {
    act: (socket) => {
      socket.write(`${head}Content-Length: 10000000000\r\n\r\n`);
      writeForEver(socket, "x".repeat(65_536));
    },
    result: { outcome: "succeeded", answerCut: true },
  },
  "sends a body of empty chunk extensions without end": {
    act: (socket) => {
      socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
      writeForEver(socket, "1;".concat("y".repeat(8_000), "\r\nx\r\n"));
    },
    result: failed("protocol"),
  },
  "sends a body in chunks of one byte": {
    act: (socket) => {
      socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
      writeForEver(socket, "1\r\nx\r\n".repeat(1_000));
    },
    result: failed("protocol"),
  },
  "sends a gzip bomb": {
    act: (socket) => {
      socket.write(`${head}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    },
    result: { outcome: "succeeded", answerCut: bomb.length > 65_536 },
  },
  "floods with 1xx": { act: (socket) => writeForEver(socket, early), result: failed("too_many_informational") },
  "sends 1xx now and then": { act: (socket) => trickle(socket, early), result: failed("too_many_informational") },
  "sends 21 times 1xx and then an answer": {
    act: (socket) => socket.write(early.repeat(21) + answer("200 OK")),
    result: failed("too_many_informational"),
  },
  "floods with long headers": {
    act: (socket) => {
      socket.write(head);
      writeForEver(socket, `X: ${"x".repeat(1_000)}\r\n`);
    },
    result: failed("headers_too_large"),
  },
  "sends thousands of tiny headers and hangs": {
    act: (socket) => socket.write(head + "a:\r\n".repeat(3_900)),
    result: failed("headers_too_large"),
  },
  "sends thousands of tiny trailers and hangs": {
    act: (socket) => socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n0\r\n${"a:\r\n".repeat(3_900)}`),
    result: failed("headers_too_large"),
  },
  "closes as soon as it has accepted": { onConnect: (socket) => socket.destroy(), result: { outcome: "failed" } },
  "resets as soon as it has accepted": {
    onConnect: (socket) => socket.resetAndDestroy(),
    result: { outcome: "failed" },
  },
  "closes without an answer": { act: (socket) => socket.end(), result: failed("reset", { status: null }) },
  "resets without an answer": { act: (socket) => socket.resetAndDestroy(), result: failed("reset") },
  "closes within the headers": { act: (socket) => socket.end(`${head}X: 1\r\n`), result: failed("reset") },
  "closes within the body": {
    act: (socket) => socket.end(`${head}Content-Length: 5\r\n\r\nab`),
    result: failed("reset", { status: 200, answerBody: new Uint8Array([97, 98]) }),
  },
  "closes within a chunk": {
    act: (socket) => socket.end(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\nab`),
    result: failed("reset", { status: 200 }),
  },
  "speaks another protocol": { act: (socket) => socket.end("220 mail ready\r\n"), result: failed("protocol") },
  "speaks HTTP/2": {
    act: (socket) => socket.write(Buffer.from("000012040000000000", "hex")),
    result: failed("protocol"),
  },
  "speaks first": { onConnect: (socket) => socket.write(answer("200 OK")), result: {} },
  "says 100 to what asked for nothing": {
    act: (socket) => socket.write("HTTP/1.1 100 Continue\r\n\r\n"),
    result: failed("protocol"),
  },
  "changes the protocol": {
    act: (socket) => socket.write("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
    result: failed("protocol"),
  },
  "names two lengths": {
    act: (socket) => socket.write(`${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`),
    result: failed("protocol"),
  },
  "names a length and chunks": {
    act: (socket) => socket.write(`${head}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    result: failed("protocol"),
  },
  "breaks its chunks": {
    act: (socket) => socket.write(`${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`),
    result: failed("protocol", { status: 200 }),
  },
};

describe("a receiver that", () => {
  it.each(Object.entries(receivers))("%s ends as a result, in time, and is let go of", async (_name, evil) => {
    const open = new Set<Socket>();
    const receiver = await openReceiver(evil.act ?? (() => {}), {}, (socket) => {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      evil.onConnect?.(socket);
    });
    const result = await post(openSender(), receiver.url);
    expect(result).toMatchObject(evil.result);
    expect(result.timings.total).toBeLessThan(shortLimits.totalMs + SLACK_MS);
    expect(result.answerBody.length).toBeLessThanOrEqual(65_536);
    expect(receiver.connections).toBe(1);
    if (result.outcome !== "succeeded" || result.answerCut) await until(() => open.size === 0);
  });

  it("answers before it has read the request is heard, and not given another one", async () => {
    const receiver = await openReceiver(
      () => {},
      {},
      (socket) =>
        socket.once("data", () => {
          socket.pause();
          socket.write(answer("413 Too Large", "no", ["Connection: close"]));
        }),
    );
    const sender = openSender();
    const body = "x".repeat(8_000_000);
    for (let round = 0; round < 2; round++) {
      const result = await post(sender, receiver.url, body);
      expect(result).toMatchObject({ outcome: "rejected", status: 413, reusedConnection: false });
    }
  });

  it("is not there is told apart from one that refuses", async () => {
    const receiver = await openReceiver(() => {});
    await receiver.close();
    const result = await post(openSender(), receiver.url);
    expect(result).toMatchObject(failed("connect_refused", { sentHeaders: [], remoteAddress: null }));
    expect(result.detail).toContain(`127.0.0.1:${receiver.port}`);
  });

  it.runIf(process.platform === "linux")("never accepts ends as connect_timeout", async () => {
    // A stopped process with a short queue: the system accepts a few for it, then drops every greeting.
    const program =
      "const s=require('net').createServer().listen({port:0,host:'127.0.0.1',backlog:1},()=>console.log(s.address().port))";
    const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const port = await new Promise<string>((resolve) => {
      createInterface({ input: child.stdout }).once("line", resolve);
    });
    child.kill("SIGSTOP");
    const sender = openSender();
    const results = await Promise.all(Array.from({ length: 8 }, () => post(sender, `http://127.0.0.1:${port}/`)));
    expect(results.map(({ failure }) => failure)).toContain("connect_timeout");
    for (const { failure, timings } of results) {
      // Those in the queue are connected as far as anybody can tell.
      expect(["connect_timeout", "timeout"]).toContain(failure);
      expect(timings.total).toBeLessThan(shortLimits.totalMs + SLACK_MS);
    }
  });

  it("hangs does not hold up others", async () => {
    const hanging = await openReceiver(() => {});
    const healthy = await openReceiver((socket) => socket.write(answer("200 OK")));
    const sender = openSender();
    const hung = Array.from({ length: 100 }, () => post(sender, hanging.url));
    const result = await post(sender, healthy.url);
    expect(result).toMatchObject({ outcome: "succeeded" });
    expect(result.timings.total).toBeLessThan(shortLimits.totalMs);
    for (const each of await Promise.all(hung)) expect(each).toMatchObject(failed("timeout"));
  });
});
