import { describe, expect, it, onTestFinished } from "vitest";
import { type DnsReply, type DnsServer, startDnsServer } from "../../../test/servers/dns-server.ts";
import { answer } from "../../../test/servers/raw-receiver.ts";
import { anyPort, openReceiver, openSender, post } from "../../../test/webhooks/sender.harness.ts";
import { NetworkList } from "../../outbound/addresses/address-guard.ts";
import type { AttemptResult } from "../rules/after-attempt.ts";
import type { SenderOptions } from "./sender.ts";

/** Stands for a public address: it is the only loopback address that the rules of these tests allow. */
const GOOD = "127.0.0.2";
/** The address of the sink, a receiver that no request may reach. */
const BAD = "127.0.0.1";
const rules = { allowNetworks: new NetworkList([GOOD]), allowPorts: anyPort };

async function openDns(reply: Parameters<typeof startDnsServer>[0]): Promise<DnsServer> {
  const server = await startDnsServer(reply);
  onTestFinished(() => server.close());
  return server;
}

/** Starts a good receiver and a sink on the same port, and a sender that uses the test's own DNS server. */
async function openHarness(reply: Parameters<typeof startDnsServer>[0], limits: SenderOptions["limits"] = {}) {
  const sink = await openReceiver(() => {}, { host: BAD });
  const good = await openReceiver((socket) => socket.end(answer("200 OK", "", ["Connection: close"])), {
    host: GOOD,
    port: sink.port,
  });
  const dns = await openDns(reply);
  const sender = openSender({ rules, limits, resolve: { servers: [dns.address] } });
  const call = (name = "partner.test"): Promise<AttemptResult> => post(sender, `http://${name}:${sink.port}/`);
  return { sink, good, dns, sender, call };
}

const onlyA =
  (...addresses: string[]) =>
  (question: { type: string }): DnsReply =>
    question.type === "A" ? addresses : [];

describe("a name", () => {
  it("is looked up once, and exactly what was checked is dialled", async () => {
    const { sink, good, dns, call } = await openHarness(({ type, nth }) => {
      if (type === "AAAA") return [];
      return nth === 0 ? [GOOD] : [BAD];
    });
    const result = await call();
    expect(result).toMatchObject({ outcome: "succeeded", remoteAddress: GOOD });
    expect(result.timings.dns).toBeGreaterThan(0);
    expect(dns.questions.toSorted()).toEqual(["A partner.test", "AAAA partner.test"]);
    expect(good.received.join("")).toContain(`host: partner.test:${sink.port}\r\n`);
    expect(sink.connections).toBe(0);
  });

  it("that is bound to another address afterwards is refused at the next attempt: no connection at the sink", async () => {
    const { sink, good, call } = await openHarness(({ type, nth }) => {
      if (type === "AAAA") return [];
      return nth % 2 === 0 ? [GOOD] : [BAD];
    });
    const results: AttemptResult[] = [];
    for (let round = 0; round < 10; round++) results.push(await call());
    expect(results.map(({ failure }) => failure)).toEqual(
      Array.from({ length: 10 }, (_, round) => (round % 2 === 0 ? null : "address_refused")),
    );
    expect(good.connections).toBe(5);
    expect(sink.connections).toBe(0);
  });

  const mixed: Record<string, (question: { type: "A" | "AAAA" }) => DnsReply> = {
    "a good and a bad IPv4 address": onlyA(GOOD, BAD),
    "a bad and a good IPv4 address": onlyA(BAD, GOOD),
    "a good IPv4 and a bad IPv6 address": ({ type }) => (type === "A" ? [GOOD] : ["::1"]),
    "a good IPv4 address and a bad one inside IPv6": ({ type }) => (type === "A" ? [GOOD] : ["::ffff:127.0.0.1"]),
    "a good IPv4 address and a bad one behind the translator": ({ type }) =>
      type === "A" ? [GOOD] : ["64:ff9b::7f00:1"],
    "an alias of an alias of a bad address": ({ type }) => [
      { type: "CNAME", name: "partner.test", ttl: 0, data: "alias.test" },
      { type: "CNAME", name: "alias.test", ttl: 0, data: "sink.test" },
      ...(type === "A" ? [{ type, name: "sink.test", ttl: 0, data: BAD } as const] : []),
    ],
    "a good address and a bad one of another name": ({ type }) =>
      type === "A" ? [GOOD, { type, name: "sink.test", ttl: 0, data: BAD }] : [],
    "many good addresses and a bad one": onlyA(...Array<string>(20).fill(GOOD), BAD),
    "a bad address alone": onlyA(BAD),
    "the metadata address": onlyA("169.254.169.254"),
  };
  it.each(Object.entries(mixed))("with %s is refused, and nothing is dialled", async (_name, reply) => {
    const { sink, good, call } = await openHarness(reply);
    const result = await call();
    expect(result).toMatchObject({
      outcome: "failed",
      failure: "address_refused",
      sentHeaders: [],
      remoteAddress: null,
    });
    expect(result.detail).toContain("partner.test");
    expect(sink.connections + good.connections).toBe(0);
  });

  it("with more addresses than any receiver has is not looked into, let alone dialled", async () => {
    const { sink, good, call } = await openHarness(onlyA(...Array<string>(101).fill(GOOD)));
    const result = await call();
    expect(result).toMatchObject({ outcome: "failed", failure: "dns", sentHeaders: [] });
    expect(result.detail).toContain("101 addresses");
    expect(sink.connections + good.connections).toBe(0);
  });

  it.each([
    ["is unknown", "nxdomain", "dns"],
    ["has no address", [], "dns"],
    ["cannot be answered for", "servfail", "dns"],
    ["nobody answers for", "silence", "dns_timeout"],
  ] as const)("that %s fails as such", async (_name, reply, failure) => {
    const { call } = await openHarness(() => reply);
    const result = await call();
    expect(result).toMatchObject({ outcome: "failed", failure, sentHeaders: [] });
    expect(result.detail).toContain("partner.test");
  });

  it("works when only one of the two questions is answered", async () => {
    const { call } = await openHarness(({ type }) => (type === "A" ? [GOOD] : "silence"), { dnsTimeoutMs: 1_500 });
    expect(await call()).toMatchObject({ outcome: "succeeded" });
  });

  it("is asked for only where no connection is kept", async () => {
    const dns = await openDns(onlyA(GOOD));
    const good = await openReceiver((socket) => socket.write(answer("200 OK")), { host: GOOD });
    const sender = openSender({ rules, resolve: { servers: [dns.address] } });
    for (let round = 0; round < 5; round++) await post(sender, `http://partner.test:${good.port}/`);
    expect(dns.questions).toHaveLength(2);
    expect(good.connections).toBe(1);
  });

  it("may lead to plain http only where all of its addresses are in networks the operator has named", async () => {
    // 1.1.1.1 is public, so https would be allowed. The sender does not connect to it here, because it refuses plain http.
    const { sink, call } = await openHarness(onlyA("1.1.1.1", GOOD));
    const result = await call();
    expect(result).toMatchObject({ failure: "address_refused" });
    expect(result.detail).toContain("use https");
    expect(sink.connections).toBe(0);
  });

  it("falls back to another of its addresses within the time to connect", async () => {
    const all = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: anyPort };
    const good = await openReceiver((socket) => socket.write(answer("200 OK")), { host: GOOD });
    const dns = await openDns(onlyA("127.0.0.3", "127.0.0.4", GOOD));
    const sender = openSender({ rules: all, resolve: { servers: [dns.address] } });
    const result = await post(sender, `http://partner.test:${good.port}/`);
    expect(result).toMatchObject({ outcome: "succeeded", remoteAddress: GOOD });
  });

  it("is dialled at a few of its addresses at most", async () => {
    const all = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: anyPort };
    const good = await openReceiver((socket) => socket.write(answer("200 OK")), { host: GOOD });
    const dns = await openDns(onlyA(...Array.from({ length: 20 }, (_, index) => `127.0.1.${index + 1}`), GOOD));
    const sender = openSender({ rules: all, resolve: { servers: [dns.address] } });
    const result = await post(sender, `http://partner.test:${good.port}/`);
    expect(result).toMatchObject({ outcome: "failed", failure: "connect_refused" });
    expect(good.connections).toBe(0);
  });
});

describe("localhost", () => {
  it("is this machine, whatever DNS says, and reached only where the operator has named it", async () => {
    const receiver = await openReceiver((socket) => socket.write(answer("200 OK")));
    const dns = await openDns(() => ["1.1.1.1"]);
    const resolve = { servers: [dns.address] };
    const named = openSender({
      rules: { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: anyPort },
      resolve,
    });
    const url = `http://localhost:${receiver.port}/`;
    expect(await post(named, url)).toMatchObject({ outcome: "succeeded", remoteAddress: "127.0.0.1" });
    const strict = openSender({ rules: { allowNetworks: new NetworkList([]), allowPorts: anyPort }, resolve });
    expect(await post(strict, url.replace("http:", "https:"))).toMatchObject({ failure: "address_refused" });
    expect(dns.questions).toEqual([]);
    expect(receiver.connections).toBe(1);
  });
});

describe("literal addresses", () => {
  it.each([
    "0x7f.1",
    "2130706433",
    "017700000001",
    "127.1",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "127.0.0.1.",
    "x@127.0.0.1",
    "localhost.",
    "localhost",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::7f00:1]",
    "[::5efe:7f00:1]",
    "[64:ff9b::7f00:1]",
    "0.0.0.0",
    "0",
    "[::]",
    "[::1%25lo]",
    "[fe80::1%25lo]",
    "[::ffff:0:127.0.0.1]",
    "[2001:0:7f00:1::]",
    "[2002:7f00:1::]",
    "[64:ff9b:1::7f00:1]",
    "127.0.0.\u00ad1",
    "127.0.0.\u200b1",
    "loca\u00adlhost",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "a.localhost",
    "127.0.0.1%2e",
    "1.1.1.1:443@127.0.0.1",
    "1.1.1.1\t@127.0.0.1",
    "127.0.0.1\\@1.1.1.1",
  ])("spelled %s reach no sink, neither on IPv4 nor on IPv6", async (host) => {
    // Listens on IPv4 and IPv6 at once, if the machine has both.
    const sink = await openReceiver(() => {}, { host: "::" }).catch(() => openReceiver(() => {}, { host: "0.0.0.0" }));
    const sender = openSender({ rules });
    for (const scheme of ["http", "https"]) {
      const result = await post(sender, `${scheme}://${host}:${sink.port}/`);
      expect(result).toMatchObject({ outcome: "failed", sentHeaders: [] });
    }
    expect(sink.connections).toBe(0);
  });
});
