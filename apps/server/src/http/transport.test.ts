import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NetworkList } from "../outbound/addresses/address-guard.ts";
import { createTransport } from "./transport.ts";

/** A request that came from a peer, over our own TLS or plainly. */
function requestFrom(peer: string | undefined, headers: Record<string, string> = {}, tls = false): IncomingMessage {
  const socket = tls ? new TLSSocket(new Socket()) : new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: peer });
  const request = new IncomingMessage(socket);
  Object.assign(request.headers, headers);
  return request;
}

describe("without trusted proxies", () => {
  const transport = createTransport(new NetworkList([]));

  it.each([
    ["127.0.0.1", false, true],
    ["::1", false, true],
    ["::ffff:127.0.0.1", false, true],
    ["192.0.2.1", false, false],
    ["::ffff:192.0.2.1", false, false],
    ["2001:db8::1", false, false],
    [undefined, false, false],
    ["192.0.2.1", true, true],
  ])("a peer at %s (our own TLS: %s) is secure: %s", (peer, tls, secure) => {
    expect(transport(requestFrom(peer, {}, tls)).secure).toBe(secure);
  });

  it("nothing that a caller writes makes a plain connection secure or changes its address", () => {
    const headers = fc.dictionary(
      fc.constantFrom(
        "x-forwarded-proto",
        "x-forwarded-for",
        "forwarded",
        "x-forwarded-ssl",
        "x-real-ip",
        "x-forwarded-scheme",
        "front-end-https",
      ),
      fc.constantFrom("https", "on", "127.0.0.1", "::1", "proto=https;for=127.0.0.1", "https, https"),
    );
    fc.assert(
      fc.property(headers, (written) => {
        expect(transport(requestFrom("192.0.2.1", written))).toEqual({ address: "192.0.2.1", secure: false });
      }),
    );
  });

  it.each([
    [{ "x-forwarded-proto": "http" }, false],
    [{ "x-forwarded-proto": "https" }, true],
    [{ "x-forwarded-proto": "https, http" }, false],
    [{ "x-forwarded-proto": "" }, false],
    [{ "x-forwarded-for": "203.0.113.9" }, false],
    [{ forwarded: "for=203.0.113.9;proto=http" }, false],
    [{ forwarded: 'for=203.0.113.9; proto="https"' }, true],
    [{ forwarded: "for=203.0.113.9" }, false],
    [{ "x-real-ip": "203.0.113.9" }, false],
    [{ "x-forwarded-host": "bikes.example" }, false],
    [{ "x-forwarded-server": "proxy" }, false],
    [{ via: "1.1 proxy" }, false],
    [{ "x-real-ip": "203.0.113.9", "x-forwarded-proto": "https" }, true],
  ])(
    "a proxy on this machine that forwards %j brings a secure request: %s, and is said to be unnamed",
    (headers, secure) => {
      for (const peer of ["127.0.0.1", "::1"]) {
        expect(transport(requestFrom(peer, headers))).toEqual({
          address: peer,
          secure,
          misconfiguration: "untrusted",
        });
      }
    },
  );

  it("names an IPv4 peer in its own form", () => {
    expect(transport(requestFrom("::ffff:192.0.2.1")).address).toBe("192.0.2.1");
  });
});

describe("behind trusted proxies", () => {
  const transport = createTransport(new NetworkList(["10.0.0.0/8", "127.0.0.1"]));
  const proto = (value: string) => ({ "x-forwarded-proto": value });
  const hops = (value: string) => ({ "x-forwarded-proto": "https", "x-forwarded-for": value });

  it.each([
    ["10.0.0.1", proto("https"), true],
    ["::ffff:10.0.0.1", proto("HTTPS"), true],
    ["10.0.0.1", proto("http"), false],
    // The caller may have written the left value; the proxy nearest to us adds its value at the right.
    ["10.0.0.1", proto("https, http"), false],
    ["10.0.0.1", proto("http, https"), true],
    ["10.0.0.1", proto(""), false],
    ["10.0.0.1", proto("wss"), false],
    // A proxy on this machine that sends `http` means its caller's connection, not its own.
    ["127.0.0.1", proto("http"), false],
    ["127.0.0.1", proto("https"), true],
    // Without the header nothing is proven.
    ["10.0.0.1", {}, false],
    ["127.0.0.1", { "x-forwarded-for": "192.0.2.1" }, false],
    ["127.0.0.1", {}, false],
    // Headers of a peer that is not trusted do not count.
    ["192.0.2.1", proto("https"), false],
  ])("a peer at %s that sends %j is secure: %s", (peer, headers, secure) => {
    expect(transport(requestFrom(peer, headers)).secure).toBe(secure);
  });

  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["127.0.0.1, 192.0.2.1", "192.0.2.1"],
    ["203.0.113.9, 192.0.2.1, 10.0.0.7", "192.0.2.1"],
    ["192.0.2.1,10.0.0.7,10.0.0.8", "192.0.2.1"],
    ["10.0.0.9, 10.0.0.7", "10.0.0.9"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8::1", "2001:db8::1"],
    ["203.0.113.9:51234", "203.0.113.9"],
    ["[2001:DB8::1]:443, 10.0.0.7:8080", "2001:db8::1"],
    // For a text that is not an address, the proxy that passed it on is counted.
    ["anything<script>", "10.0.0.1"],
    ["192.0.2.1, unknown, 10.0.0.7", "10.0.0.7"],
    ["", "10.0.0.1"],
  ])("X-Forwarded-For %j names the caller %s", (header, address) => {
    expect(transport(requestFrom("10.0.0.1", hops(header))).address).toBe(address);
  });

  it("a proxy that does not say the scheme is said to be misconfigured, unless somebody there speaks TLS to us directly", () => {
    expect(transport(requestFrom("10.0.0.1", { "x-forwarded-for": "192.0.2.1" }))).toEqual({
      address: "192.0.2.1",
      secure: false,
      misconfiguration: "scheme_missing",
    });
    expect(transport(requestFrom("10.0.0.1", { "x-forwarded-for": "192.0.2.1" }, true)).secure).toBe(false);
    expect(transport(requestFrom("10.0.0.1", {}, true))).toEqual({ address: "10.0.0.1", secure: true });
    expect(transport(requestFrom("10.0.0.1", proto("http"))).misconfiguration).toBeUndefined();
  });

  it("a caller cannot choose the address it is counted under, whatever it writes in front", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.ipV4(), fc.constant("10.0.0.1"), fc.constant("unknown"), fc.constant(""))),
        (written) => {
          const header = [...written, "192.0.2.1"].join(", ");
          expect(transport(requestFrom("10.0.0.1", hops(header))).address).toBe("192.0.2.1");
        },
      ),
    );
  });
});
