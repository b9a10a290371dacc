import { expect, it, onTestFinished } from "vitest";
import { NetworkList } from "../../src/outbound/addresses/address-guard.ts";
import { type DnsReply, startDnsServer } from "../servers/dns-server.ts";
import { answer } from "../servers/raw-receiver.ts";
import { until } from "../until.ts";
import { anyPort, openReceiver, openSender, post } from "../webhooks/sender.harness.ts";

/** The number of concurrent look-ups of names whose name servers are silent: many more than Node's threads for look-ups. */
const LOST_NAMES = 150;

it("name servers that are silent, fail or change their answer delay their own receivers alone, and all is well afterwards", async () => {
  let said: DnsReply = "silence";
  const dns = await startDnsServer(({ type, name }) => {
    if (name === "well.test") return type === "A" ? ["127.0.0.1"] : [];
    return type === "A" || typeof said === "string" ? said : [];
  });
  onTestFinished(() => dns.close());
  const receiver = await openReceiver((socket) => socket.end(answer("200 OK", "", ["Connection: close"])));
  const rules = { allowNetworks: new NetworkList(["127.0.0.1"]), allowPorts: anyPort };
  const sender = openSender({ rules, resolve: { servers: [dns.address] } });
  const call = (name: string) => post(sender, `http://${name}:${receiver.port}/`);

  // Meanwhile, look-ups of other names, IP addresses, and other work that needs Node's threads must not be delayed.
  let isOver = false;
  const failures = new Set<string | null>();
  const askForLost = async (n: number) => {
    while (!isOver) failures.add((await call(`lost-${n}.test`)).failure);
  };
  const lost = Promise.all(Array.from({ length: LOST_NAMES }, (_, n) => askForLost(n)));
  let served = 0;
  // A look-up of a silent server takes 3 s. If each occupied one of Node's threads, no other name would be served. On a busy
  // machine a response can be late.
  await until(async () => {
    const { outcome } = await call(served % 2 === 0 ? "well.test" : "127.0.0.1");
    if (outcome === "succeeded") served++;
    return served === 20;
  });
  isOver = true;
  await lost;
  expect(failures).toEqual(new Set(["dns_timeout"]));

  said = "servfail";
  // On a busy machine an answer can be late.
  await until(async () => (await call("lost-1.test")).failure === "dns");
  // The name server now returns another address: first one that must not be called, then the right one.
  said = ["127.0.0.9"];
  await until(async () => (await call("lost-1.test")).failure === "address_refused");
  said = ["127.0.0.1"];
  await until(async () => (await call("lost-1.test")).outcome === "succeeded");
});
