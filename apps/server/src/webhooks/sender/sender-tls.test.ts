import type { Socket } from "node:net";
import { createServer, type TlsOptions, TLSSocket } from "node:tls";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { makeCertificate } from "../../../test/servers/certificates.ts";
import { startDnsServer } from "../../../test/servers/dns-server.ts";
import { answer } from "../../../test/servers/raw-receiver.ts";
import { loopback, openReceiver, openSender, post, shortLimits } from "../../../test/webhooks/sender.harness.ts";

const good = await makeCertificate("partner.test");
const other = await makeCertificate("other.test");
const expired = await makeCertificate("partner.test", -1);
const literal = await makeCertificate("127.0.0.1");

/** Opens a sender that resolves partner.test to loopback. */
async function openNamedSender(ca: string | undefined) {
  const dns = await startDnsServer(({ type }) => (type === "A" ? ["127.0.0.1"] : []));
  onTestFinished(() => dns.close());
  return openSender({ resolve: { servers: [dns.address] }, tls: { ca } });
}

async function openTlsReceiver(tls: { readonly key: string; readonly cert: string }) {
  return openReceiver((socket) => socket.write(answer("200 OK")), { tls });
}

describe("https", () => {
  it("reaches a receiver whose certificate is trusted and its own, and keeps the connection", async () => {
    const receiver = await openTlsReceiver(good);
    const sender = await openNamedSender(good.cert);
    const url = `https://partner.test:${receiver.port}/`;
    const result = await post(sender, url);
    expect(result).toMatchObject({ outcome: "succeeded", remoteAddress: "127.0.0.1" });
    expect(result.timings.tls).toBeGreaterThan(0);
    expect(await post(sender, url)).toMatchObject({ outcome: "succeeded", reusedConnection: true });
    expect(receiver.received[0]).toContain(`host: partner.test:${receiver.port}\r\n`);
  });

  it("checks literal addresses against the certificate too", async () => {
    const receiver = await openTlsReceiver(literal);
    expect(await post(openSender({ tls: { ca: literal.cert } }), receiver.url)).toMatchObject({ outcome: "succeeded" });
    const stranger = await openTlsReceiver(good);
    const result = await post(openSender({ tls: { ca: good.cert } }), stranger.url);
    expect(result).toMatchObject({ outcome: "failed", failure: "tls" });
    expect(result.detail).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
  });

  it.each([
    ["for another name", other, other.cert, "ERR_TLS_CERT_ALTNAME_INVALID"],
    ["that has expired", expired, expired.cert, "CERT_HAS_EXPIRED"],
    ["that nobody vouches for", good, undefined, "SELF_SIGNED_CERT"],
    ["that another authority vouches for", good, other.cert, "SELF_SIGNED_CERT"],
  ])("sends nothing to a receiver with a certificate %s", async (_name, certificate, ca, code) => {
    // The certificate is verified even if the environment switches verification off. Node warns of the setting.
    vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    const receiver = await openTlsReceiver(certificate);
    const sender = await openNamedSender(ca);
    const result = await post(sender, `https://partner.test:${receiver.port}/`);
    expect(result).toMatchObject({ outcome: "failed", failure: "tls", status: null, sentHeaders: [] });
    expect(result.detail).toContain(code);
    expect(result.detail).not.toContain("Node");
    expect(receiver.received.join("")).toBe("");
  });

  it("ends in time when the handshake hangs", async () => {
    const receiver = await openReceiver(() => {});
    const sender = openSender({ limits: shortLimits });
    const result = await post(sender, receiver.url.replace("http:", "https:"));
    expect(result).toMatchObject({ outcome: "failed", failure: "connect_timeout", sentHeaders: [] });
    expect(result.detail).toContain("TLS");
  });

  it.each([
    ["closes", "destroy"],
    ["resets", "resetAndDestroy"],
  ] as const)("fails as such when the far side %s during the handshake", async (_name, how) => {
    const receiver = await openReceiver(
      () => {},
      {},
      (socket) => socket.once("data", () => socket[how]()),
    );
    const result = await post(openSender(), receiver.url.replace("http:", "https:"));
    expect(result).toMatchObject({ outcome: "failed", failure: "tls", sentHeaders: [] });
  });

  it("fails as such when the far side speaks plain http", async () => {
    const receiver = await openReceiver(
      () => {},
      {},
      (socket) => socket.once("data", () => socket.end(answer("400 Bad Request"))),
    );
    const result = await post(openSender(), receiver.url.replace("http:", "https:"));
    expect(result).toMatchObject({ outcome: "failed", failure: "tls" });
    expect(result.detail).not.toMatch(/\n/);
  });

  it("is not mixed with plain http in what is kept", async () => {
    const receiver = await openTlsReceiver(literal);
    const sender = openSender({ rules: loopback, tls: { ca: literal.cert } });
    await post(sender, receiver.url);
    const plain = await post(sender, receiver.url.replace("https:", "http:"));
    expect(plain).toMatchObject({ outcome: "failed", reusedConnection: false });
  });

  const strangers: readonly (readonly [name: string, options: TlsOptions, words: string])[] = [
    [
      "an old TLS only",
      { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" },
      "neither TLS 1.2 nor 1.3",
    ],
    ["HTTP/2 only", { ALPNProtocols: ["h2"] }, "does not speak HTTP/1.1"],
  ];
  it.each(strangers)("tells whoever speaks %s so", async (_name, options, words) => {
    const receiver = await openReceiver(() => {}, { tls: { ...literal, ...options } });
    const result = await post(openSender({ tls: { ca: literal.cert } }), receiver.url);
    expect(result).toMatchObject({ outcome: "failed", failure: "tls", sentHeaders: [] });
    expect(result.detail).toContain(words);
  });

  it("shakes hands once: another certificate cannot be brought in afterwards, nor time be burnt", async () => {
    const errors: string[] = [];
    let isShaken = false;
    const receiver = await openReceiver(
      (socket) => {
        if (!(socket instanceof TLSSocket)) return;
        socket.once("error", (error: Error) => {
          errors.push(error.message);
          socket.destroy();
        });
        socket.renegotiate({}, () => {
          isShaken = true;
          socket.destroy();
        });
      },
      // TLS 1.3 has no renegotiation.
      { tls: { ...literal, maxVersion: "TLSv1.2" } },
    );
    expect(await post(openSender({ tls: { ca: literal.cert } }), receiver.url)).toMatchObject({ outcome: "failed" });
    expect(isShaken).toBe(false);
    expect(errors.join()).toContain("no renegotiation");
  });

  it("fails at once, as such, when the far side falls out of TLS in its answer", async () => {
    let rawSocket: Socket | undefined;
    const server = createServer(literal, (socket) => {
      socket.on("error", () => {});
      socket.once("data", () => rawSocket?.write("HTTP/1.1 200 OK\r\n\r\n"));
    });
    server.on("connection", (socket: Socket) => (rawSocket = socket));
    onTestFinished(() => {
      server.close();
      rawSocket?.destroy();
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const result = await post(openSender({ tls: { ca: literal.cert } }), `https://127.0.0.1:${port}/`);
    expect(result).toMatchObject({ outcome: "failed", failure: "tls", status: null });
    // The request had been written, so the receiver may have read it.
    expect(result.sentHeaders.length).toBeGreaterThan(0);
  });
});
