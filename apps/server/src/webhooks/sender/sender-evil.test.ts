import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { answer } from "../../../test/servers/raw-receiver.ts";
import {
  failed,
  openReceiver,
  openSender,
  post,
  shortLimits,
  trickle,
  until,
  writeForEver,
} from "../../../test/webhooks/sender.harness.ts";
import type { AttemptResult } from "../rules/after-attempt.ts";
import type { Sender } from "./sender.ts";

interface Evil {
  readonly act?: (socket: Socket) => void;
  readonly onConnect?: (socket: Socket) => void;
  readonly result: Record<string, unknown>;
}

const head = "HTTP/1.1 200 OK\r\n";
const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
const early = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
const bomb = gzipSync(Buffer.alloc(50_000_000));
const wide = Buffer.alloc(65_536, "x");

/** Sends one POST to such a receiver and waits until it has been let go of. */
async function meet(sender: Sender, { act = () => {}, onConnect }: Evil): Promise<AttemptResult> {
  const open = new Set<Socket>();
  const receiver = await openReceiver(act, {}, (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    onConnect?.(socket);
  });
  const result = await post(sender, receiver.url);
  expect(receiver.connections).toBe(1);
  expect(result.answerBody.length).toBeLessThanOrEqual(65_536);
  if (result.outcome !== "succeeded" || result.answerCut) await until(() => open.size === 0);
  return result;
}

const hanging: Record<string, Evil> = {
  "says nothing": { act: () => {}, result: failed("timeout", { status: null }) },
  "stops within the status line": { act: (socket) => socket.write("HTTP/1.1 2"), result: failed("timeout") },
  "stops within the headers": { act: (socket) => socket.write(`${head}X: 1\r\n`), result: failed("timeout") },
  "stops behind a 1xx head": { act: (socket) => socket.write(early), result: failed("timeout", { status: null }) },
  "tells us to go on, and nothing more": {
    act: (socket) => socket.write("HTTP/1.1 100 Continue\r\n\r\n"),
    result: failed("timeout", { status: null }),
  },
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
  "sends a chunk extension byte by byte": {
    act: (socket) => {
      socket.write(`${chunked}1;`);
      trickle(socket, "x");
    },
    result: failed("body_timeout", { status: 200 }),
  },
};

const flooding: Record<string, Evil> = {
  "sends a body without end": {
    act: (socket) => {
      socket.write(`${head}\r\n`);
      writeForEver(socket, wide);
    },
    result: { outcome: "succeeded", status: 200, answerCut: true },
  },
  "sends a body without end to say no": {
    act: (socket) => {
      socket.write("HTTP/1.1 500 No\r\n\r\n");
      writeForEver(socket, wide);
    },
    result: { outcome: "rejected", status: 500, answerCut: true },
  },
  "sends a body without end to say that there is none": {
    act: (socket) => {
      socket.write("HTTP/1.1 204 No Content\r\n\r\n");
      writeForEver(socket, wide);
    },
    result: { outcome: "succeeded", status: 204, answerBody: new Uint8Array(0) },
  },
  "announces 10 GB": {
    act: (socket) => {
      socket.write(`${head}Content-Length: 10000000000\r\n\r\n`);
      writeForEver(socket, wide);
    },
    result: { outcome: "succeeded", answerCut: true },
  },
  "sends a chunk extension without end": {
    act: (socket) => {
      socket.write(`${chunked}1;`);
      writeForEver(socket, wide);
    },
    result: failed("protocol", { detail: "The chunk sizes and extensions of the response body exceed 16 KiB." }),
  },
  "sends a chunk's size without end": {
    act: (socket) => {
      socket.write(chunked);
      writeForEver(socket, Buffer.alloc(65_536, "0"));
    },
    result: failed("protocol", { detail: "The chunk sizes and extensions of the response body exceed 16 KiB." }),
  },
  "sends a body in chunks of one byte": {
    act: (socket) => {
      socket.write(chunked);
      writeForEver(socket, "1\r\nx\r\n".repeat(1_000));
    },
    result: { outcome: "succeeded", status: 200, answerCut: true, answerBody: new Uint8Array(1_024).fill(120) },
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
  "sends empty lines without end": {
    act: (socket) => writeForEver(socket, "\r\n".repeat(30_000)),
    result: failed("headers_too_large"),
  },
  "sends a status line without end": {
    act: (socket) => {
      socket.write("HTTP/1.1 200 ");
      writeForEver(socket, wide);
    },
    result: failed("headers_too_large"),
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
};

const closing: Record<string, Evil> = {
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
    act: (socket) => socket.end(`${chunked}5\r\nab`),
    result: failed("reset", { status: 200 }),
  },
};

describe("a receiver that", () => {
  it("hangs is ended by the time limit, wherever it hangs", async () => {
    // The time limit for connecting is long, because none of these receivers hangs there.
    const sender = openSender({ limits: { ...shortLimits, connectTimeoutMs: 30_000 } });
    const met = Object.entries(hanging).map(async ([name, evil]) => [name, await meet(sender, evil)] as const);
    const expected = Object.entries(hanging).map(([name, { result }]) => [name, result] as const);
    expect(Object.fromEntries(await Promise.all(met))).toMatchObject(Object.fromEntries(expected));
  });

  // Uses the product's own time limits: here the data that arrives ends the attempt, not a clock.
  it.each(Object.entries({ ...flooding, ...closing }))("%s ends as a result and is let go of", async (_name, evil) => {
    expect(await meet(openSender(), evil)).toMatchObject(evil.result);
  });

  it("exceeds a limit fails with a text that names the limit in force", async () => {
    const sender = openSender({ limits: { maxHeaderBytes: 1_024, maxHeaderLines: 10, maxInformational: 2 } });
    const texts = {
      [`${head}${"X: 1\r\n".repeat(11)}\r\n`]: "The response headers exceed 1 KiB or 10 lines.",
      ["HTTP/1.1 100 Continue\r\n\r\n".repeat(3)]:
        "More than 2 informational responses (1xx) came before the final response.",
      [`${chunked}1;${"x".repeat(2_000)}`]: "The chunk sizes and extensions of the response body exceed 1 KiB.",
    };
    for (const [text, detail] of Object.entries(texts))
      expect(await meet(sender, { act: (socket) => socket.write(text), result: {} })).toMatchObject({ detail });
  });

  it("hangs in its trailers has answered, and is let go of", async () => {
    const result = await meet(openSender(), {
      act: (socket) => socket.write(`${chunked}2\r\nok\r\n0\r\nX-Checksum: `),
      result: {},
    });
    expect(result).toMatchObject({ outcome: "succeeded", status: 200, answerCut: false });
    expect(Buffer.from(result.answerBody).toString()).toBe("ok");
  });

  it("is not there is told apart from one that refuses", async () => {
    const receiver = await openReceiver(() => {});
    await receiver.close();
    const result = await post(openSender(), receiver.url);
    expect(result).toMatchObject(failed("connect_refused", { sentHeaders: [], remoteAddress: null }));
    expect(result.detail).toContain(`127.0.0.1:${receiver.port}`);
  });

  it.runIf(process.platform === "linux")("never accepts ends as connect_timeout", async () => {
    // A stopped process with a short queue: the operating system accepts a few connections for it, then drops every new one.
    const program =
      "const s=require('net').createServer().listen({port:0,host:'127.0.0.1',backlog:1},()=>console.log(s.address().port))";
    const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const port = await new Promise<string>((resolve) => {
      createInterface({ input: child.stdout }).once("line", resolve);
    });
    child.kill("SIGSTOP");
    const sender = openSender({ limits: shortLimits });
    const results = await Promise.all(Array.from({ length: 8 }, () => post(sender, `http://127.0.0.1:${port}/`)));
    expect(results.map(({ failure }) => failure)).toContain("connect_timeout");
    // A connection in the queue looks established to the sender, so that its attempt ends as `timeout`.
    for (const { failure } of results) expect(["connect_timeout", "timeout"]).toContain(failure);
  });

  it("hangs does not hold up others", async () => {
    const silent = await openReceiver(() => {});
    const healthy = await openReceiver((socket) => socket.write(answer("200 OK")));
    const sender = openSender();
    let ended = 0;
    const hung = Array.from({ length: 100 }, async () => {
      const result = await post(sender, silent.url);
      ended++;
      return result;
    });
    expect(await post(sender, healthy.url)).toMatchObject({ outcome: "succeeded" });
    expect(ended).toBe(0);
    await until(() => silent.connections === 100);
    await silent.close();
    for (const each of await Promise.all(hung)) expect(each).toMatchObject(failed("reset"));
  });
});
