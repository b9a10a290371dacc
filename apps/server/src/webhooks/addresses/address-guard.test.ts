import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";
import { judgeAddress, judgeUrl, parsePorts } from "./address-guard.ts";
import type { AddressRules } from "./address-guard.ts";
import { formatV4, isSameAddress, parseAddress, parseNetwork } from "./addresses.ts";
import type { IpAddress } from "./addresses.ts";
import { refusedRanges } from "./refused-ranges.ts";

fc.configureGlobal({ seed: 1 });

const strict: AddressRules = { allowNetworks: [], allowPorts: [{ from: 443, to: 443 }] };
const allowing = (...allowNetworks: string[]): AddressRules => ({ ...strict, allowNetworks });

/** webhooks.md, as text of its own: the table of the code is checked against it, not against itself. */
const refused4 =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 " +
  "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32";
const refused6 =
  "::/8 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 " +
  "fec0::/10 ff00::/8";
const refused = `${refused4} ${refused6}`.split(" ");
/** What lies inside a refused range and is public all the same; of 64:ff9b::/96 what is inside counts. */
const publicInside = ["2001:3::/32", "2001:4:112::/48"];
const translator = "64:ff9b::/96";

describe("addresses", () => {
  it.each(refused)("refuses the first, the last and any address of %s, and says what it is", (text) => {
    const { family, first, last } = parseNetwork(text);
    const exempt = [...publicInside, translator].map(parseNetwork);
    const isExempt = (value: bigint) =>
      exempt.some((each) => each.family === family && value >= each.first && value <= each.last);
    expect(judgeAddress(format({ family, value: first }), strict)).toMatchObject({ ok: false });
    expect(judgeAddress(format({ family, value: last }), strict)).toMatchObject({ ok: false });
    fc.assert(
      fc.property(fc.bigInt({ min: first, max: last }), (value) => {
        fc.pre(!isExempt(value));
        const verdict = judgeAddress(format({ family, value }), strict);
        expect(!verdict.ok && verdict.message).toContain("WEBHOOK_ALLOW_NETWORKS");
      }),
    );
  });

  it.each(refused)("lets through the neighbours of %s, unless another range refuses them", (text) => {
    const { family, first, last } = parseNetwork(text);
    const end = family === 4 ? 1n << 32n : 1n << 128n;
    for (const value of [first - 1n, last + 1n].filter((each) => each >= 0n && each < end)) {
      const inAnother = refused
        .map(parseNetwork)
        .some((each) => each.family === family && value >= each.first && value <= each.last);
      expect(judgeAddress(format({ family, value }), strict).ok, format({ family, value })).toBe(!inAnother);
    }
  });

  it("lets through every IPv4 address outside the ranges", () => {
    const ranges = refused4.split(" ").map(parseNetwork);
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }), (value) => {
        const inside = ranges.some(({ first, last }) => value >= first && value <= last);
        expect(judgeAddress(format({ family: 4, value }), strict).ok).toBe(!inside);
      }),
      { numRuns: 1000 },
    );
  });

  it("has the ranges of the design and, beside them, only narrower names for their reasons", () => {
    const listed = refusedRanges.map(({ text }) => text);
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
    expect(judgeAddress(address, strict)).toMatchObject({ ok: false, reason });
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
    expect(judgeAddress(address, strict)).toEqual({ ok: true, named: false });
  });

  it("lets through what the operator has named, and nothing beside it", () => {
    const rules = allowing("127.0.0.0/8", "fd00::/8", "10.1.2.3");
    for (const address of ["127.0.0.1", "127.255.255.255", "::ffff:127.0.0.1", "fd12::1", "10.1.2.3"]) {
      expect(judgeAddress(address, rules), address).toEqual({ ok: true, named: true });
    }
    for (const address of ["::1", "128.0.0.0", "126.255.255.255"]) {
      expect(judgeAddress(address, rules), address).not.toEqual({ ok: true, named: true });
    }
    for (const address of ["10.1.2.4", "fc00::1", "::7f00:1", "64:ff9b::7f00:1", "2002:7f00:1::"]) {
      expect(judgeAddress(address, rules), address).toMatchObject({ ok: false });
    }
    expect(judgeAddress("1.1.1.1", allowing("0.0.0.0/0"))).toEqual({ ok: true, named: true });
    expect(judgeAddress("10.0.0.9", allowing("10.0.0.1/24"))).toEqual({ ok: true, named: true });
  });

  it("never lets through what ipaddr.js calls anything but ordinary, except the public anycast services", () => {
    const v4 = fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((value): IpAddress => ({ family: 4, value }));
    const v6 = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((value): IpAddress => ({ family: 6, value }));
    const special = fc
      .constantFrom(...refused.map(parseNetwork))
      .chain(({ family, first, last }) =>
        fc.bigInt({ min: first, max: last }).map((value): IpAddress => ({ family, value })),
      );
    const exempt = [...publicInside, translator].map((text) => ipaddr.parseCIDR(text));
    fc.assert(
      fc.property(fc.oneof(v4, v6, special), (address) => {
        const text = format(address);
        if (!judgeAddress(text, strict).ok) return;
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

  it("reads every spelling of an address as the URL parser does", () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const parsed = parseAddress(text);
        // ipaddr.js 2.5.0 takes ::0.0.0.0 for ::ffff:0.0.0.0, so it is not asked here.
        const host = (spelling: string) => new URL(`https://[${spelling}]/`).hostname;
        expect(parsed && host(format(parsed))).toBe(host(text));
      }),
      { numRuns: 1000 },
    );
    fc.assert(
      fc.property(fc.ipV4(), (text) => {
        const parsed = parseAddress(text);
        expect(parsed && formatV4(parsed)).toBe(text);
      }),
    );
  });

  it("takes an IPv4 address and its mapped form for one place", () => {
    expect(isSameAddress("127.0.0.1", "::ffff:127.0.0.1")).toBe(true);
    expect(isSameAddress("127.0.0.1", "::7f00:1")).toBe(false);
    expect(isSameAddress("127.0.0.1", "127.0.0.2")).toBe(false);
    expect(isSameAddress("nonsense", "nonsense")).toBe(false);
  });

  it.each(["10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "localhost", "10.0.0.0/", ""])(
    "refuses %s as a network",
    (text) => {
      expect(() => parseNetwork(text)).toThrow(`"${text}" is neither an IP address nor a network`);
    },
  );
});

describe("ports", () => {
  it("reads single ports and ranges", () => {
    expect(parsePorts("443")).toEqual([{ from: 443, to: 443 }]);
    expect(parsePorts(" 443, 8443 ,1024-65535,")).toEqual([
      { from: 443, to: 443 },
      { from: 8443, to: 8443 },
      { from: 1024, to: 65_535 },
    ]);
  });

  it.each(["0", "65536", "9-1", "x", "443-", "-1", "44 3", "1e3", "0x1bb", "443;80"])("refuses %s by name", (text) => {
    expect(() => parsePorts(`443,${text}`)).toThrow(`"${text}" is neither a port from 1 to 65535 nor a range`);
  });

  it("refuses an empty list", () => {
    expect(() => parsePorts(" , ")).toThrow("no port is listed");
  });
});

describe("URLs", () => {
  it.each([
    "https://0x7f.1/",
    "https://0x7f000001/",
    "https://2130706433/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://①②⑦.0.0.1/",
    "https://127。0。0。1/",
    "https://127．0．0．1/",
    "https://127.0.0.1./",
    "https://%31%32%37.0.0.1/",
    "https:127.0.0.1",
    "https:///127.0.0.1",
    "https://[::1]/",
    "https://[::7f00:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::5efe:127.0.0.1]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://localhost/",
    "https://LOCALHOST/",
    "https://ｌocalhost/",
    "https://a.localhost/",
  ])("refuses %s as an address of this machine", (text) => {
    expect(judgeUrl(text, strict)).toMatchObject({ ok: false, reason: "address" });
  });

  it.each([
    ["https://x@127.0.0.1/", "userinfo"],
    ["https://@example.com/", "userinfo"],
    ["https://user:secret@example.com/", "userinfo"],
    ["https://example.com:443@10.0.0.1/", "userinfo"],
    ["https://localhost./", "host"],
    ["https://example.com./", "host"],
    ["https://exa!mple.com/", "host"],
    [`https://${"a".repeat(64)}.com/`, "host"],
    ["http://example.com/", "scheme"],
    ["ftp://example.com/", "scheme"],
    ["javascript:alert(1)", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["http://1.1.1.1/", "scheme"],
    ["https://example.com:8443/", "port"],
    ["https://example.com:22/", "port"],
    ["https://example.com/#part", "fragment"],
    ["https://example.com/#", "fragment"],
    ["example.com/hook", "invalid"],
    ["", "invalid"],
    ["https://", "invalid"],
    [" https://example.com/", "invalid"],
    ["https://example.com/a b", "invalid"],
    ["https://exam\tple.com/", "invalid"],
    ["https://example.com/\nHost: evil", "invalid"],
    ["https://example.com\\@127.0.0.1/", "invalid"],
    ["https://[fe80::1%25eth0]/", "invalid"],
    ["https://127.0.0.1.1/", "invalid"],
    ["https://256.1.1.1/", "invalid"],
  ])("refuses %s: %s", (text, reason) => {
    const verdict = judgeUrl(text, strict);
    expect(verdict).toMatchObject({ ok: false, reason });
    if (!verdict.ok) expect(verdict.message).toMatch(/^[A-Z].*\.$/);
  });

  it("refuses a URL that is longer than the log should hold", () => {
    const ofLength = (length: number) => "https://example.com/".padEnd(length, "x");
    expect(judgeUrl(ofLength(2048), strict).ok).toBe(true);
    expect(judgeUrl(ofLength(2049), strict)).toMatchObject({ ok: false, reason: "too_long" });
  });

  it.each([
    ["https://example.com/hook", "https://example.com/hook"],
    ["https://EXAMPLE.com:443", "https://example.com/"],
    ["https://bücher.example/?token=a%20b&at=x@y", "https://xn--bcher-kva.example/?token=a%20b&at=x@y"],
    ["https://my_host.example.com/a@b", "https://my_host.example.com/a@b"],
    ["https://1.1.1.1/", "https://1.1.1.1/"],
    ["https://[2606:4700::1111]/", "https://[2606:4700::1111]/"],
  ])("accepts %s", (text, href) => {
    const verdict = judgeUrl(text, strict);
    expect(verdict.ok && verdict.url.href).toBe(href);
  });

  it("lets plain http through only where the operator's networks may be meant", () => {
    const rules = { allowNetworks: ["127.0.0.0/8"], allowPorts: parsePorts("80,443") };
    expect(judgeUrl("http://127.0.0.1/", rules).ok).toBe(true);
    expect(judgeUrl("http://localhost/", rules).ok).toBe(true);
    // Its addresses decide, when it is dialled.
    expect(judgeUrl("http://receiver.internal/", rules).ok).toBe(true);
    expect(judgeUrl("http://1.1.1.1/", rules)).toMatchObject({ reason: "scheme" });
    expect(judgeUrl("http://10.0.0.1/", rules)).toMatchObject({ reason: "address" });
    expect(judgeUrl("http://[::1]/", rules)).toMatchObject({ reason: "address" });
    expect(judgeUrl("https://localhost/", rules).ok).toBe(true);
  });

  it("holds named networks to the listed ports as well", () => {
    expect(judgeUrl("http://127.0.0.1:9000/", allowing("127.0.0.0/8"))).toMatchObject({ reason: "port" });
  });

  it("never accepts a URL whose host is a refused literal address, however it is written", () => {
    const spellings = (value: number): string[] => {
      const bytes = [24, 16, 8, 0].map((shift) => (value >>> shift) & 255);
      const [a = 0, b = 0, c = 0, d = 0] = bytes;
      const hex = (part: number) => `0x${part.toString(16)}`;
      return [
        bytes.join("."),
        bytes.map(hex).join("."),
        bytes.map((part) => `0${part.toString(8)}`).join("."),
        String(value),
        hex(value),
        `0${value.toString(8)}`,
        `${a}.${(b << 16) | (c << 8) | d}`,
        `${a}.${b}.${(c << 8) | d}`,
        `${bytes.join(".")}.`,
        `[::ffff:${bytes.join(".")}]`,
        `[::${bytes.join(".")}]`,
        `[64:ff9b::${bytes.join(".")}]`,
      ];
    };
    const inRange = fc
      .constantFrom(...refused4.split(" ").map(parseNetwork))
      .chain(({ first, last }) => fc.integer({ min: Number(first), max: Number(last) }));
    fc.assert(
      fc.property(inRange, (value) => {
        for (const host of spellings(value)) {
          expect(judgeUrl(`https://${host}/`, strict), host).toMatchObject({ ok: false, reason: "address" });
        }
      }),
      { numRuns: 300 },
    );
  });
});

function format({ family, value }: IpAddress): string {
  if (family === 4) return formatV4({ family, value });
  return Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16)).join(
    ":",
  );
}
