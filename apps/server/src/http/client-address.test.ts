import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countedAddress, parseAddress } from "./transport.ts";

describe("an address that a proxy writes", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    [" 192.0.2.1 ", "192.0.2.1"],
    ["203.0.113.9:51234", "203.0.113.9"],
    ["2001:db8::1", "2001:db8::1"],
    ["2001:DB8:0:0::1", "2001:db8::1"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::ffff:c000:201", "192.0.2.1"],
    ["[::ffff:192.0.2.1]:80", "192.0.2.1"],
  ])("%j is %s", (written, address) => {
    expect(parseAddress(written)).toBe(address);
  });

  it.each([
    "",
    "unknown",
    "_hidden",
    "anything<script>",
    "1.2.3",
    "1.2.3.4:",
    "1.2.3.4:123456",
    "01.2.3.4",
    "[1.2.3.4]:80",
    "[::1",
    "::1]",
    "[::1]x",
    "example.com:443",
    "2001:db8::1::2",
  ])("%j is none", (written) => {
    expect(parseAddress(written)).toBeUndefined();
  });

  it("has one form, however it is written, and never another address", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.integer({ min: 0, max: 65_535 }), (address, port) => {
        const read = parseAddress(address);
        expect(read).toBeDefined();
        expect(isIP(read ?? "")).not.toBe(0);
        expect(parseAddress(read ?? "")).toBe(read);
        const withPort = isIP(address) === 4 ? `${address}:${port}` : `[${address.toUpperCase()}]:${port}`;
        expect(parseAddress(withPort)).toBe(read);
      }),
    );
  });
});

describe("what an address is counted under", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8::/64"],
    ["2001:db8:0:7::9", "2001:db8:0:7::/64"],
    ["::1", "::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b::/64"],
    ["", ""],
  ])("of %j is %j", (address, counted) => {
    expect(countedAddress(address)).toBe(counted);
  });

  it("is the same for every address of a /64, and differs between two of them", () => {
    const group = fc.integer({ min: 1, max: 0xff_ff }).map((value) => value.toString(16));
    const groups = (length: number) => fc.array(group, { minLength: length, maxLength: length });
    fc.assert(
      fc.property(groups(4), groups(4), groups(4), groups(4), (network, one, other, another) => {
        const at = (front: string[], rest: string[]) => countedAddress([...front, ...rest].join(":"));
        expect(at(network, one)).toBe(at(network, other));
        fc.pre(network.join(":") !== another.join(":"));
        expect(at(another, one)).not.toBe(at(network, one));
      }),
    );
  });
});
