import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";
import { formatIp as format, type IpNumber, ipRange } from "../../../test/ip-range.ts";
import { checkAddress, NetworkList, refusedIpv4, refusedIpv6 } from "./address-guard.ts";

const strict = new NetworkList([]);
const allowing = (...networks: string[]) => new NetworkList(networks);

/** The ranges that webhooks.md lists, written here again, so that the table in the code is not compared with itself. */
const refused4 =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 " +
  "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32";
const refused6 =
  "::/8 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 " +
  "fec0::/10 ff00::/8";
const refused = `${refused4} ${refused6}`.split(" ");
/** Public networks inside refused ranges. An address in 64:ff9b::/96 is judged by the IPv4 address inside it. */
const publicInside = ["2001:3::/32", "2001:4:112::/48"];
const translator = "64:ff9b::/96";

/** IPv6 addresses that contain IPv4 addresses, in hexadecimal groups or in IPv4's notation. */
const embedding = fc
  .tuple(fc.constantFrom("::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::", "::5efe:"), fc.ipV4(), fc.boolean())
  .map(
    ([prefix, ipv4, isHex]) =>
      prefix +
      (isHex
        ? Buffer.from(ipv4.split(".").map(Number))
            .toString("hex")
            .replace(/^(.{4})/, "$1:")
        : ipv4),
  );

describe("addresses", () => {
  it.each(refused)("refuses the first, the last and any address of %s, and says what it is", (text) => {
    const { family, first, last } = ipRange(text);
    const exempt = [...publicInside, translator].map(ipRange);
    const isExempt = (value: bigint) =>
      exempt.some((each) => each.family === family && value >= each.first && value <= each.last);
    expect(checkAddress(format({ family, value: first }), strict)).toMatchObject({ ok: false });
    expect(checkAddress(format({ family, value: last }), strict)).toMatchObject({ ok: false });
    fc.assert(
      fc.property(fc.bigInt({ min: first, max: last }), (value) => {
        fc.pre(!isExempt(value));
        const verdict = checkAddress(format({ family, value }), strict);
        expect(!verdict.ok && verdict.message).toContain(" is an address of ");
      }),
    );
  });

  it.each(refused)("lets through the neighbours of %s, unless another range refuses them", (text) => {
    const { family, first, last } = ipRange(text);
    const end = family === 4 ? 1n << 32n : 1n << 128n;
    for (const value of [first - 1n, last + 1n].filter((each) => each >= 0n && each < end)) {
      const inAnother = refused
        .map(ipRange)
        .some((each) => each.family === family && value >= each.first && value <= each.last);
      expect(checkAddress(format({ family, value }), strict).ok, format({ family, value })).toBe(!inAnother);
    }
  });

  it("lets through every IPv4 address outside the ranges", () => {
    const ranges = refused4.split(" ").map(ipRange);
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }), (value) => {
        const inside = ranges.some(({ first, last }) => value >= first && value <= last);
        expect(checkAddress(format({ family: 4, value }), strict).ok).toBe(!inside);
      }),
      { numRuns: 1000 },
    );
  });

  it("has the ranges of the design and, beside them, only narrower names for their reasons", () => {
    const listed = [...refusedIpv4, ...refusedIpv6].map(({ network }) => network);
    expect(listed).toEqual(expect.arrayContaining(refused));
    const added = listed.filter((text) => !refused.includes(text));
    expect(added).toEqual(["::/128", "::1/128", "::ffff:0:0/96"]);
  });

  it.each([
    ["::1", "loopback"],
    ["::", "this_network"],
    ["::7f00:1", "embedded"],
    ["::127.0.0.1", "embedded"],
    ["::5efe:7f00:1", "embedded"],
    ["::5efe:127.0.0.1", "embedded"],
    ["::ffff:127.0.0.1", "embedded"],
    ["::ffff:7f00:1", "embedded"],
    ["::ffff:8.8.8.8", "embedded"],
    ["::ffff:0:127.0.0.1", "embedded"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["64:ff9b::7f00:1", "loopback"],
    ["64:ff9b::169.254.169.254", "link_local"],
    ["64:ff9b:1::7f00:1", "translation"],
    ["2002:7f00:1::", "relay"],
    ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "protocol"],
    ["2001:1::1", "protocol"],
    ["2001:1::2", "protocol"],
    ["2001:1::3", "protocol"],
    ["2001:20::1", "protocol"],
    ["2001:30::1", "protocol"],
    ["100:0:0:1::1", "discard"],
    ["fd00:ec2::254", "private"],
    ["169.254.169.254", "link_local"],
    ["168.63.129.16", "metadata"],
    ["100.100.100.200", "shared"],
    ["fe80::1%eth0", "zone"],
    ["fe80::1%25eth0", "zone"],
    ["127.1", "invalid"],
    ["0177.0.0.1", "invalid"],
    ["localhost", "invalid"],
    ["", "invalid"],
  ])("refuses %s as %s", (address, reason) => {
    expect(checkAddress(address, strict)).toMatchObject({ ok: false, reason });
  });

  it.each([
    "1.1.1.1",
    "64:ff9b::1.1.1.1",
    "2001:3::1",
    "2001:4:112::1",
    "2001:200::1",
    "2606:4700:4700::1111",
    "101::1",
  ])("lets through %s", (address) => {
    expect(checkAddress(address, strict)).toEqual({ ok: true, named: false });
  });

  it("lets through what the operator has named, and nothing beside it", () => {
    const rules = allowing("127.0.0.0/8", "fd00::/8", "10.1.2.3");
    for (const address of ["127.0.0.1", "127.255.255.255", "::ffff:127.0.0.1", "fd12::1", "10.1.2.3"]) {
      expect(checkAddress(address, rules), address).toEqual({ ok: true, named: true });
    }
    for (const address of ["::1", "128.0.0.0", "126.255.255.255"]) {
      expect(checkAddress(address, rules), address).not.toEqual({ ok: true, named: true });
    }
    for (const address of ["10.1.2.4", "fc00::1", "::7f00:1", "64:ff9b::7f00:1", "2002:7f00:1::"]) {
      expect(checkAddress(address, rules), address).toMatchObject({ ok: false });
    }
    expect(checkAddress("1.1.1.1", allowing("0.0.0.0/0"))).toEqual({ ok: true, named: true });
    expect(checkAddress("10.0.0.9", allowing("10.0.0.1/24"))).toEqual({ ok: true, named: true });
  });

  it("never lets through what ipaddr.js calls anything but ordinary, except the public anycast services", () => {
    const v4 = fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((value): IpNumber => ({ family: 4, value }));
    const v6 = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((value): IpNumber => ({ family: 6, value }));
    const special = fc
      .constantFrom(...refused.map(ipRange))
      .chain(({ family, first, last }) =>
        fc.bigInt({ min: first, max: last }).map((value): IpNumber => ({ family, value })),
      );
    const exempt = [...publicInside, translator].map((text) => ipaddr.parseCIDR(text));
    fc.assert(
      fc.property(fc.oneof(v4, v6, special), (address) => {
        const text = format(address);
        if (!checkAddress(text, strict).ok) return;
        const theirs = ipaddr.parse(text);
        const isExempt = exempt.some((network) => theirs.kind() === "ipv6" && theirs.match(network));
        expect(
          isExempt || theirs.range() === "unicast" || theirs.range() === "as112" || theirs.range() === "amt",
          text,
        ).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  it("judges every spelling of an address as it judges the URL parser's", () => {
    const verdict = (address: string) => {
      const { ok, ...rest } = checkAddress(address, strict);
      return { ok, reason: "reason" in rest && rest.reason };
    };
    fc.assert(
      fc.property(fc.oneof(fc.ipV6(), embedding), (text) => {
        expect(verdict(text)).toEqual(verdict(new URL(`https://[${text}]/`).hostname.slice(1, -1)));
      }),
      { numRuns: 3000 },
    );
  });
});
