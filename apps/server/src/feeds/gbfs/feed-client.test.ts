import { once } from "node:events";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeCertificate } from "../../../test/servers/certificates.ts";
import { startDnsServer } from "../../../test/servers/dns-server.ts";
import { createAddressRule, PublicHosts } from "../outgoing.ts";
import { createFeedClient, feedAddresses } from "./address-source.ts";
import { AnswerError } from "./problems.ts";

interface Listening {
  readonly port: number;
  readonly url: string;
  /** The requests that the server got, in order. */
  readonly asked: string[];
}

type Page = (response: ServerResponse) => unknown;

async function listen(answer: Page, make: (listener: RequestListener) => Server = createServer): Promise<Listening> {
  const asked: string[] = [];
  const server = make((request, response) => {
    asked.push(request.url ?? "");
    answer(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the test's server has no port");
  return { port: address.port, url: `http://127.0.0.1:${address.port}`, asked };
}

const redirect =
  (location: string): Page =>
  (response) =>
    response.writeHead(302, { location }).end();
const get = (from: string, url = from, options: Parameters<typeof createFeedClient>[1] = {}) =>
  createFeedClient(new URL(from), options).get(new URL(url));

describe("a feed leads to public addresses and to the configured host and port alone", () => {
  test("another port of this machine is not called, listed or by redirect", async () => {
    const inside = await listen((response) => response.end("{}"));
    const gbfs = await listen(redirect(`${inside.url}/admin/shutdown?now=1`));
    await expect(get(`${gbfs.url}/gbfs.json`, `${inside.url}/latest/meta-data/`)).rejects.toThrow(
      /127\.0\.0\.1: 127\.0\.0\.1 is an address of this machine itself\. Only public addresses are called/,
    );
    await expect(get(`${gbfs.url}/gbfs.json`)).rejects.toThrow("is an address of this machine itself");
    expect([gbfs.asked, inside.asked]).toEqual([["/gbfs.json"], []]);
  });

  test.each(["localhost", "[::1]", "2130706433", "[::ffff:127.0.0.1]"])(
    "not by the spelling %s either",
    async (host) => {
      const inside = await listen((response) => response.end("{}"));
      const from = "https://feeds.example/gbfs.json";
      await expect(get(from, `http://${host}:${inside.port}/`)).rejects.toThrow("Only public addresses are called");
      expect(inside.asked).toEqual([]);
    },
  );

  test("a name is refused when one of its addresses is private, before any of them is called", async () => {
    const inside = await listen((response) => response.end("{}"));
    const dns = await startDnsServer(({ type }) => (type === "A" ? ["1.1.1.1", "127.0.0.1"] : []));
    onTestFinished(() => dns.close());
    const url = `http://feeds.test:${inside.port}/station_status.json`;
    await expect(get("https://publisher.example/gbfs.json", url, { dnsServers: [dns.address] })).rejects.toThrow(
      "feeds.test: 127.0.0.1 is an address of this machine itself",
    );
    expect(inside.asked).toEqual([]);
  });

  test("the configured host may be private, by name or by address, as often as it is asked", async () => {
    const own = await listen((response) => response.end("{}"));
    const client = createFeedClient(new URL(`http://localhost:${own.port}/gbfs.json`));
    for (const path of ["/a", "/b"]) await client.get(new URL(path, `http://localhost:${own.port}`));
    await get(`${own.url}/c`);
    expect(own.asked).toEqual(["/a", "/b", "/c"]);
  });

  test("a configured host that was public may not become private: its name is the publisher's", () => {
    const url = new URL("http://publisher.example/gbfs.json");
    const rule = createAddressRule(url);
    expect(rule.reject("10.0.0.1", url)).toBeUndefined();
    rule.reached(url, "10.0.0.1");
    expect(rule.reject("10.0.0.1", url)).toBeUndefined();
    rule.reached(url, "1.1.1.1");
    expect(rule.reject("10.0.0.1", url)).toContain("a private network");
    expect(rule.reject("1.0.0.1", url)).toBeUndefined();
    // Several clients share the list, such as those of successive checks.
    const hosts = new PublicHosts();
    createAddressRule(url, hosts).reached(url, "1.1.1.1");
    expect(createAddressRule(url, hosts).reject("10.0.0.1", url)).toContain("a private network");
  });
});

describe("what came over https", () => {
  const at = (url: string) => new URL(url);

  test("is never followed by plain http: a listed feed is asked over https, a redirect is refused", async () => {
    const base = at("https://a.example/gbfs.json");
    expect(feedAddresses("http://a.example/s.json", "s", base).map(String)).toEqual(["https://a.example/s.json"]);
    expect(feedAddresses("http://b.example/s.json", "s", base).map(String)).toEqual([
      "https://b.example/s.json",
      "https://a.example/s.json",
    ]);
    expect(feedAddresses("http://a.example:8080/s.json", "s", base).map(String)).toEqual(["https://a.example/s.json"]);
    expect(feedAddresses("http://a.example/s.json", "s", at("http://a.example/")).map(String)).toEqual([
      "http://a.example/s.json",
    ]);

    const plain = await listen((response) => response.end("{}"));
    const { key, cert } = await makeCertificate("127.0.0.1");
    const secure = await listen(redirect(`${plain.url}/gbfs.json`), (listener) =>
      createSecureServer({ key, cert }, listener),
    );
    const from = `https://127.0.0.1:${secure.port}/gbfs.json`;
    await expect(get(from, from, { ca: cert })).rejects.toThrow("a redirect from https to plain http");
    expect([secure.asked, plain.asked]).toEqual([["/gbfs.json"], []]);
    await expect(get(from)).rejects.toThrow("SELF_SIGNED");
  });
});

test("a user or password in a URL is refused, and not repeated", async () => {
  const own = await listen(redirect("http://anna:secret@127.0.0.1/"));
  for (const from of [`http://anna:secret@127.0.0.1:${own.port}/`, `${own.url}/gbfs.json`]) {
    const message = await get(from).catch((error: unknown) => String(error));
    expect(message).toContain("holds a user or password before @");
    expect(message).not.toContain("secret@127");
  }
  expect(own.asked).toEqual(["/gbfs.json"]);
});

test("what fails is named without the query of its URL, in which keys of feeds stand", async () => {
  const pages: Page[] = [
    (response) => response.writeHead(500).end(),
    redirect("/again?api_key=secret"),
    redirect("ftp://127.0.0.1/?api_key=secret"),
    redirect("http://[secret"),
    (response) => response.destroy(),
  ];
  for (const page of pages) {
    const own = await listen(page);
    const failure = await get(`${own.url}/gbfs.json?api_key=secret`).catch((error: unknown) => String(error));
    expect(failure).toMatch(/^(Answer)?Error: /);
    expect(failure).not.toContain("secret");
  }
});

test("64 MiB in 64 KiB of gzip are given up at the bound", async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, " "));
  const own = await listen((response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bomb));
  await expect(get(`${own.url}/gbfs.json`)).rejects.toThrow(/^it is larger than 16 MiB$/);
});

test.each([
  [
    "informational responses",
    "HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n",
    "",
    /more than 64 KiB came before the headers/,
  ],
  ["extensions of chunks", "x", "transfer-encoding: chunked\r\n\r\n1;", /more than 564 KiB came for its response/],
  ["archives of nothing", gzipSync("").toString("latin1"), "content-encoding: gzip\r\n\r\n", /more than 564 KiB came/],
])("%s without end are given up long before the timeout", async (_name, piece, head, message) => {
  const start = head === "" ? "" : `HTTP/1.1 200 OK\r\n${head}`;
  const own = await flood(start, Buffer.from(piece.repeat(Math.ceil(32_768 / piece.length)), "latin1"));
  const options = { maxBytes: 400 * 1024, timeoutMs: 3_600_000 };
  await expect(get(`${own}/gbfs.json`, undefined, options)).rejects.toThrow(message);
});

/** Starts a server that sends `start`, and then the same bytes again and again as long as the client reads them. */
async function flood(start: string, bytes: Buffer): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    const writeOn = () => {
      while (!socket.destroyed && socket.write(bytes));
    };
    socket.on("drain", writeOn).once("data", () => {
      socket.write(start);
      writeOn();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each([
  [429, { "retry-after": "30" }, 30_000],
  [503, { "retry-after": "Thu, 01 Jan 2026 00:01:00 GMT", date: "Thu, 01 Jan 2026 00:00:00 GMT" }, 60_000],
  [500, {}, null],
])("an answer %s says how long its server asks us to wait", async (status, headers, expected) => {
  const own = await listen((response) => response.writeHead(status, headers).end());
  const failure = await get(`${own.url}/gbfs.json`).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(AnswerError);
  expect(failure).toMatchObject({ message: `HTTP ${status} from ${own.url}/gbfs.json`, retryAfterMs: expected });
});
