import { expect, it, onTestFinished } from "vitest";
import { NetworkList } from "../../src/outbound/addresses/address-guard.ts";
import { type DnsReply, startDnsServer } from "../servers/dns-server.ts";
import { answer } from "../servers/raw-receiver.ts";
import { until } from "../until.ts";
import { anyPort, openReceiver, openSender, post } from "../webhooks/sender.harness.ts";

/** Names of receivers whose name servers are silent, asked for at once: many times Node's threads for looking names up. */
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

  // Names that others ask for, and addresses, go on at their pace; so does what needs the threads of Node.
  let isOver = false;
  const failures = new Set<string | null>();
  const askForLost = async (n: number) => {
    while (!isOver) failures.add((await call(`lost-${n}.test`)).failure);
  };
  const lost = Promise.all(Array.from({ length: LOST_NAMES }, (_, n) => askForLost(n)));
  let served = 0;
  // A look-up takes 3 s: with one of Node's threads for each name, none of the others would be served. On a busy machine
  // an answer can be late.
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
  // Another address: one that is not to be called, and then the right one.
  said = ["127.0.0.9"];
  await until(async () => (await call("lost-1.test")).failure === "address_refused");
  said = ["127.0.0.1"];
  await until(async () => (await call("lost-1.test")).outcome === "succeeded");
});
