import { expect, it } from "vitest";
import { isLoopback, NetworkList, parseNetworks } from "./address-guard.ts";

it("reads addresses and networks of both families", () => {
  expect(parseNetworks(" 10.0.0.0/8, ::1 ,fd00::/8,192.0.2.1,").networks).toEqual([
    "10.0.0.0/8",
    "::1",
    "fd00::/8",
    "192.0.2.1",
  ]);
  expect(parseNetworks("").networks).toEqual([]);
});

it.each([
  "localhost",
  "10.0.0.0/33",
  "::1/129",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "10.0.0",
  "10.0.0.0/-1",
  "::1%lo",
  "*",
  "all",
])("refuses %s and says which part it is", (part) => {
  expect(() => parseNetworks(`::1, ${part}`)).toThrow(`"${part}" is neither an IP address nor a network`);
});

it("knows whether an address lies in a network", () => {
  const list = parseNetworks("10.0.0.0/8, fd00::/8, 192.0.2.1, 2001:db8::1");
  const check = (address: string) => list.includes(address);
  expect(["10.255.0.1", "fd12::1", "192.0.2.1", "2001:db8::1"].map(check)).toEqual([true, true, true, true]);
  expect(["11.0.0.1", "fe80::1", "192.0.2.2", "2001:db8::2", "", "unknown", "10.0.0.1:80"].map(check)).toEqual(
    Array(7).fill(false),
  );
});

it("takes this machine's own addresses alone for loopback", () => {
  expect(["127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"].map(isLoopback)).toEqual([true, true, true, true]);
  expect(
    ["126.0.0.1", "128.0.0.1", "::2", "0.0.0.0", "::", "::ffff:10.0.0.1", "localhost", ""].map(isLoopback),
  ).toEqual(Array(8).fill(false));
});

it("takes an IPv4 address and its mapped form for one address, and no other IPv6 address for it", () => {
  for (const network of ["127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1/128", "::ffff:127.0.0.0/104"]) {
    const list = new NetworkList([network]);
    expect(["127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1"].map((each) => list.includes(each))).toEqual([
      true,
      true,
      true,
    ]);
    expect(["128.0.0.1", "::7f00:1", "64:ff9b::7f00:1", "::ffff:0:7f00:1"].map((each) => list.includes(each))).toEqual([
      false,
      false,
      false,
      false,
    ]);
  }
});

it("keeps the families apart: a wide network of IPv6 includes no IPv4 address", () => {
  for (const network of ["::/0", "::/8", "::/80"]) {
    const list = new NetworkList([network]);
    expect([list.includes("::1"), list.includes("127.0.0.1")]).toEqual([true, false]);
  }
  expect(parseNetworks("0.0.0.0/0").includes("::1")).toBe(false);
});
