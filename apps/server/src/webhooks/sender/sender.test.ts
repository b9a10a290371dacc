import type { Socket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { answer } from "../../../test/servers/raw-receiver.ts";
import { anyPort, openReceiver, openSender, post, until } from "../../../test/webhooks/sender.harness.ts";
import { NetworkList } from "../../outbound/addresses/address-guard.ts";

describe("what is sent", () => {
  it("logs exactly the headers that arrive, in names, values and order", async () => {
    const receiver = await openReceiver((socket) => socket.write(answer("200 OK")));
    const sender = openSender();
    const headers = [
      ["Content-Type", "application/json"],
      ["Service-Signature", "t=1,v1=aa,v1=bb"],
      ["User-Agent", "Bike/1.0 (+https://example.com)"],
      ["X-Ümlaut".replace("Ü", "U"), "caf\u00e9"],
    ] as const;
    const bodies = ['{"a":"ü"}', "", new Uint8Array([0, 255, 13, 10])];
    for (const body of bodies) {
      const result = await sender.send({ url: receiver.url, headers, body });
      const received = receiver.received.join("");
      const [head = ""] = received.slice(received.lastIndexOf("POST ")).split("\r\n\r\n");
      const [line, ...lines] = head.split("\r\n");
      expect(line).toBe("POST /hook?x=1 HTTP/1.1");
      expect(result.sentHeaders.map(([name, value]) => `${name}: ${value}`)).toEqual(lines);
      expect(result.sentHeaders.at(-1)).toEqual(["content-length", String(Buffer.from(body).length)]);
    }
    expect(receiver.received[0]?.endsWith("\r\n\r\n\u0000\u00ff\r\n")).toBe(true);
    expect(receiver.received.join("")).toContain('\r\n\r\n{"a":"Ã¼"}POST ');
    expect(receiver.connections).toBe(1);
  });

  it.each(["Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect"])(
    "refuses a %s of its caller's, so that the log cannot lie",
    async (name) => {
      const sender = openSender();
      const sent = sender.send({ url: "http://127.0.0.1:9/", headers: [[name, "1"]], body: "" });
      await expect(sent).rejects.toThrow(`The header ${name} is written by the sender itself.`);
    },
  );

  it("refuses a line break in a header, and sends nothing", async () => {
    const receiver = await openReceiver(() => {});
    const sent = openSender().send({ url: receiver.url, headers: [["X", "a\r\nb: c"]], body: "" });
    await expect(sent).rejects.toThrow("invalid X header");
    expect(receiver.received.join("")).toBe("");
  });

  it("ignores proxies of the environment", async () => {
    const proxy = await openReceiver(() => {});
    const receiver = await openReceiver((socket) => socket.write(answer("200 OK")));
    const proxyUrl = `http://127.0.0.1:${proxy.port}`;
    for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"])
      vi.stubEnv(name, proxyUrl);
    vi.stubEnv("NODE_USE_ENV_PROXY", "1");
    expect(await post(openSender(), receiver.url)).toMatchObject({ outcome: "succeeded" });
    expect(proxy.connections).toBe(0);
  });

  it("sends no cookie back", async () => {
    const receiver = await openReceiver((socket) => socket.write(answer("200 OK", "", ["Set-Cookie: a=b; Path=/"])));
    const sender = openSender();
    await post(sender, receiver.url);
    await post(sender, receiver.url);
    expect(receiver.received.join("").toLowerCase()).not.toContain("cookie");
  });
});

describe("what an answer means", () => {
  it.each([
    ["200 OK", "succeeded"],
    ["202 Accepted", "succeeded"],
    ["204 No Content", "succeeded"],
    ["299 Odd", "succeeded"],
    ["301 Moved", "rejected"],
    ["304 Not Modified", "rejected"],
    ["307 Temporary Redirect", "rejected"],
    ["400 Bad Request", "rejected"],
    ["410 Gone", "rejected"],
    ["429 Too Many Requests", "rejected"],
    ["500 Internal Server Error", "rejected"],
  ])("takes %s for %s", async (status, outcome) => {
    const receiver = await openReceiver((socket) => socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`));
    const result = await post(openSender(), receiver.url);
    expect(result).toMatchObject({ outcome, status: Number(status.slice(0, 3)), failure: null, detail: null });
  });

  it.each([301, 302, 303, 307, 308])("does not follow a %d, to wherever it leads", async (status) => {
    const sink = await openReceiver(() => {});
    const locations = ["http://169.254.169.254/latest/meta-data/", sink.url];
    for (const location of locations) {
      const receiver = await openReceiver((socket) =>
        socket.write(answer(`${status} Go`, "", [`Location: ${location}`])),
      );
      const result = await post(openSender(), receiver.url);
      expect(result).toMatchObject({ outcome: "rejected", status });
      expect(result.answerHeaders).toContainEqual(["Location", location]);
      expect(receiver.connections).toBe(1);
    }
    expect(sink.connections).toBe(0);
  });

  it("keeps headers as they came and the body's bytes unpacked", async () => {
    const body = Buffer.from([0x1f, 0x8b, 0, 255]);
    const lines = ["HTTP/1.1 200 OK", "X-One: a", "x-one:  b", "Content-Encoding: gzip", "Content-Length: 4", "", ""];
    const receiver = await openReceiver((socket) => {
      socket.write(lines.join("\r\n"));
      socket.write(body);
    });
    const result = await post(openSender(), receiver.url);
    expect(result.answerHeaders.slice(0, 2)).toEqual([
      ["X-One", "a"],
      ["x-one", "b"],
    ]);
    expect(Buffer.from(result.answerBody)).toEqual(body);
    expect(result.answerCut).toBe(false);
    expect(receiver.received[0]?.toLowerCase()).not.toContain("accept-encoding");
  });

  it("reads chunks, trailers, bodies that end with the connection, and what comes after a few 1xx", async () => {
    const answers = [
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nX-Trailer: 1\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.0 200 OK\r\n\r\nok",
    ];
    const receiver = await openReceiver((socket, nth) => socket[nth === 2 ? "end" : "write"](answers[nth] ?? ""));
    const sender = openSender();
    for (let nth = 0; nth < answers.length; nth++) {
      const result = await post(sender, receiver.url);
      expect(result).toMatchObject({ outcome: "succeeded", status: 200 });
      expect(Buffer.from(result.answerBody).toString()).toBe("ok");
    }
  });

  it("passes on for how long it is asked to wait", async () => {
    const receiver = await openReceiver((socket) => socket.write(answer("429 Slow", "", ["Retry-After: 30"])));
    expect((await post(openSender(), receiver.url)).retryAfterMs).toBe(30_000);
  });

  it("says how long each part took", async () => {
    const receiver = await openReceiver((socket) => setTimeout(() => socket.write(answer("200 OK")), 30));
    const sender = openSender();
    const { timings, remoteAddress } = await post(sender, receiver.url);
    expect(timings).toMatchObject({ dns: null, tls: null });
    expect(timings.connect).toBeGreaterThan(0);
    expect(timings.firstByte).toBeGreaterThanOrEqual(28);
    expect(timings.total).toBeGreaterThanOrEqual((timings.connect ?? 0) + (timings.firstByte ?? 0));
    expect(remoteAddress).toBe("127.0.0.1");
    expect((await post(sender, receiver.url)).timings.connect).toBeNull();
  });
});

describe("kept connections", () => {
  it("carries one attempt after another, and as many at once as are asked for", async () => {
    const receiver = await openReceiver((socket) => socket.write(answer("200 OK")));
    const sender = openSender();
    for (let round = 0; round < 5; round++) {
      const results = await Promise.all(Array.from({ length: 10 }, () => post(sender, receiver.url)));
      expect(results.every(({ reusedConnection }) => reusedConnection === round > 0)).toBe(true);
    }
    expect(receiver.connections).toBe(10);
  });

  it("are not used beyond their age, nor idle beyond their time", async () => {
    const receiver = await openReceiver((socket) => socket.write(answer("200 OK")));
    let now = 0;
    const aged = openSender({ monotonic: () => now });
    await post(aged, receiver.url);
    now = 59_000;
    expect(await post(aged, receiver.url)).toMatchObject({ reusedConnection: true });
    now = 60_000;
    expect(await post(aged, receiver.url)).toMatchObject({ reusedConnection: false });

    let closed = false;
    const idle = openSender({ limits: { idleTimeoutMs: 50 } });
    const other = await openReceiver(
      (socket) => socket.write(answer("200 OK")),
      {},
      (socket) => socket.once("close", () => (closed = true)),
    );
    await post(idle, other.url);
    await until(() => closed);
  });

  it("are closed at once when they reach their age as the next request begins", async () => {
    let closed = 0;
    const receiver = await openReceiver(
      (socket) => socket.write(answer("200 OK")),
      {},
      (socket) => socket.once("close", () => closed++),
    );
    let now = 0;
    // Longer than the test may take: the idle timeout must not be what closes the connection.
    const limits = { idleTimeoutMs: 600_000 };
    const sender = openSender({ monotonic: () => now, limits });
    await post(sender, receiver.url);
    now = 59_999;
    const next = post(sender, receiver.url);
    now = 60_000;
    expect(await next).toMatchObject({ reusedConnection: false });
    await until(() => closed === 1);
  });

  it("do not wait longer than the far side says it will", async () => {
    const receiver = await openReceiver((socket) => socket.write(answer("200 OK", "", ["Keep-Alive: timeout=1"])));
    const sender = openSender();
    await post(sender, receiver.url);
    expect(await post(sender, receiver.url)).toMatchObject({ reusedConnection: false });
  });

  it("are replaced without a trace when the far side closed them before the request was written", async () => {
    const receiver = await openReceiver((socket) => socket.write(answer("200 OK")));
    const sender = openSender();
    for (let round = 0; round < 20; round++) {
      await post(sender, receiver.url);
      await new Promise<void>((resolve) => {
        receiver.last()?.once("close", resolve).destroy();
      });
      expect(await post(sender, receiver.url)).toMatchObject({ outcome: "succeeded", reusedConnection: false });
    }
  });

  it.each(["destroy", "resetAndDestroy"] as const)(
    "that are closed by %s as the request is written fail as stale, because the request may have been read",
    async (how) => {
      const receiver = await openReceiver((socket, nth) =>
        nth === 0 ? socket.write(answer("200 OK")) : socket[how](),
      );
      const sender = openSender();
      await post(sender, receiver.url);
      const result = await post(sender, receiver.url);
      expect(result).toMatchObject({ outcome: "failed", failure: "stale_connection", reusedConnection: true });
      expect(result.sentHeaders.length).toBeGreaterThan(0);
      expect(receiver.received.join("").match(/POST /g)).toHaveLength(2);
    },
  );

  it("are not kept for a while of a receiver that closes them under requests, so that it costs one attempt", async () => {
    const stale = (socket: Socket) =>
      void (socket.bytesWritten === 0 ? socket.write(answer("200 OK")) : socket.destroy());
    const receiver = await openReceiver(stale);
    let now = 0;
    const sender = openSender({ monotonic: () => now });
    const failures: (string | null)[] = [];
    for (let round = 0; round < 6; round++) failures.push((await post(sender, receiver.url)).failure);
    expect(failures).toEqual([null, "stale_connection", null, null, null, null]);
    now = 601_000;
    await post(sender, receiver.url);
    expect(await post(sender, receiver.url)).toMatchObject({ failure: "stale_connection" });
  });

  it("are not kept when an answer was cut, said close, or left bytes behind", async () => {
    const tails = [answer("200 OK", "x".repeat(70_000)), answer("200 OK", "", ["Connection: close"])];
    for (const tail of tails) {
      const receiver = await openReceiver((socket) => socket.write(tail));
      const sender = openSender();
      await post(sender, receiver.url);
      expect(await post(sender, receiver.url)).toMatchObject({ outcome: "succeeded", reusedConnection: false });
    }
    const smuggler = await openReceiver((socket) => socket.write(answer("200 OK") + answer("500 Second")));
    const sender = openSender();
    expect(await post(sender, smuggler.url)).toMatchObject({ status: 200 });
    expect(await post(sender, smuggler.url)).toMatchObject({ status: 200, reusedConnection: false });
  });

  it("are bounded in number, by origin and together", async () => {
    const open = new Set<object>();
    const receivers = await Promise.all(
      Array.from({ length: 3 }, () =>
        openReceiver(
          (socket) => socket.write(answer("200 OK")),
          {},
          (socket) => {
            open.add(socket);
            socket.once("close", () => open.delete(socket));
          },
        ),
      ),
    );
    const sender = openSender({ limits: { maxIdlePerOrigin: 2, maxIdle: 5 } });
    await Promise.all(receivers.flatMap(({ url }) => Array.from({ length: 4 }, () => post(sender, url))));
    await until(() => open.size === 5);
  });
});

describe("closing", () => {
  it("waits for attempts under way, closes what is kept, and begins nothing more", async () => {
    let open = 0;
    const receiver = await openReceiver(
      (socket) => setTimeout(() => socket.write(answer("200 OK")), 50),
      {},
      (socket) => {
        open++;
        socket.once("close", () => open--);
      },
    );
    const sender = openSender();
    const running = post(sender, receiver.url);
    await sender.close();
    expect(await running).toMatchObject({ outcome: "succeeded" });
    await until(() => open === 0);
    await expect(post(sender, receiver.url)).rejects.toThrow("The sender is closed.");
  });
});

describe("URLs", () => {
  it("judges them before every attempt and opens nothing for a bad one", async () => {
    const sink = await openReceiver(() => {});
    const sender = openSender({ rules: { allowNetworks: new NetworkList([]), allowPorts: anyPort } });
    expect(await post(sender, sink.url)).toMatchObject({
      outcome: "failed",
      failure: "address_refused",
      sentHeaders: [],
    });
    expect(await post(sender, "nonsense")).toMatchObject({ outcome: "failed", failure: "url_refused", status: null });
    expect(sink.connections).toBe(0);
  });
});
