import { expect, it } from "vitest";
import { createNetworkCheck, isLoopback, parseNetworks } from "./networks.ts";

it("reads addresses and networks of both families", () => {
  expect(parseNetworks(" 10.0.0.0/8, ::1 ,fd00::/8,192.0.2.1,")).toEqual([
    "10.0.0.0/8",
    "::1",
    "fd00::/8",
    "192.0.2.1",
  ]);
  expect(parseNetworks("")).toEqual([]);
});

it.each(["localhost", "10.0.0.0/33", "::1/129", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0", "10.0.0.0/-1", "*", "all"])(
  "refuses %s and says which part it is",
  (part) => {
    expect(() => parseNetworks(`::1, ${part}`)).toThrow(`"${part}" is neither an IP address nor a network`);
  },
);

it("knows whether an address lies in a network", () => {
  const check = createNetworkCheck(["10.0.0.0/8", "fd00::/8", "192.0.2.1", "2001:db8::1"]);
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
