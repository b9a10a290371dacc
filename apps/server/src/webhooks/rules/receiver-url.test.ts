import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ipRange } from "../../../test/ip-range.ts";
import { NetworkList, refusedIpv4 } from "../../outbound/addresses/address-guard.ts";
import { type AddressRules, judgeUrl, parsePorts } from "./receiver-url.ts";

const strict: AddressRules = { allowNetworks: new NetworkList([]), allowPorts: [{ from: 443, to: 443 }] };
const allowing = (...allowNetworks: string[]): AddressRules => ({
  ...strict,
  allowNetworks: new NetworkList(allowNetworks),
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
    ["http://localhost:4210/hooks", true],
    ["http://127.0.0.1:4210/hooks", true],
    ["http://[::1]:4210/hooks", true],
    ["https://example.com:4210/", false],
    ["http://10.0.0.1:4210/", false],
  ])("at any port are accepted of this machine alone where `start` says so: %s", (text, isAccepted) => {
    const trying = { ...allowing("127.0.0.1", "::1"), allowEveryLoopbackPort: true };
    expect(judgeUrl(text, trying).ok).toBe(isAccepted);
    expect(judgeUrl(text, allowing("127.0.0.1", "::1")).ok).toBe(false);
  });

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
    const verdict = judgeUrl(text, strict);
    expect(verdict).toMatchObject({ ok: false, reason: "address" });
    expect(!verdict.ok && verdict.message).toContain("WEBHOOK_ALLOW_NETWORKS");
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
    const rules = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: parsePorts("80,443") };
    expect(judgeUrl("http://127.0.0.1/", rules).ok).toBe(true);
    expect(judgeUrl("http://localhost/", rules).ok).toBe(true);
    // A host name is judged by its addresses when the sender connects.
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
      .constantFrom(...refusedIpv4.map(({ network }) => ipRange(network)))
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
