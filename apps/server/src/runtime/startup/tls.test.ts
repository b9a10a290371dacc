import { once } from "node:events";
import { mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, connect as connectPlain, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer as createTlsServer, TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { makeCertificate } from "../../../test/servers/certificates.ts";
import { openDatabase, ping } from "../../storage/db/database.ts";
import { readCertificate, watchCertificate } from "./certificate.ts";
import { explainDatabaseFailure } from "./checks.ts";

const ours = await makeCertificate("127.0.0.1");
const renewed = await makeCertificate("127.0.0.1");
const named = await makeCertificate("db.example");

let directory: string;
let files: { certFile: string; keyFile: string };
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-tls-"));
  files = { certFile: join(directory, "cert.pem"), keyFile: join(directory, "key.pem") };
  await writeFile(files.certFile, ours.cert);
  await writeFile(files.keyFile, ours.key);
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe("the certificate", () => {
  it("that is missing, no PEM, or another key's, stops the start by the variable's name", async () => {
    const refused = async (change: Partial<typeof files>) =>
      readCertificate({ ...files, ...change }).then(() => "", String);
    expect(await refused({})).toBe("");
    expect(await refused({ certFile: "/nope" })).toMatch(/^ConfigError: TLS_CERT_FILE=\/nope: there is no such file\./);
    expect(await refused({ keyFile: directory })).toMatch(/TLS_KEY_FILE=.+: is a directory, and must be a file\./);
    expect(await refused({ certFile: files.keyFile })).toMatch(/TLS_CERT_FILE=.+: holds no certificate in PEM\./);
    expect(await refused({ keyFile: files.certFile })).toMatch(/TLS_KEY_FILE=.+: holds no private key in PEM/);
    await writeFile(files.keyFile, named.key);
    const mismatch = await refused({});
    expect(mismatch).toMatch(/TLS_KEY_FILE=.+key\.pem: is not the key of the certificate in TLS_CERT_FILE=.+cert\.pem/);
    expect(mismatch).not.toContain("PRIVATE");
  });

  it("that is renewed behind a link is in use without a restart; one that is half written is not", async () => {
    await writeFile(join(directory, "cert1.pem"), ours.cert);
    await rm(files.certFile);
    await symlink("cert1.pem", files.certFile);
    const certificate = await readCertificate(files);
    const server = createTlsServer(certificate, (socket) => socket.end()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const errors: string[] = [];
    const watch = watchCertificate({
      files,
      certificate,
      use: (next) => server.setSecureContext(next),
      onError: (error) => errors.push(String(error)),
    });
    const shown = async () => {
      const socket = connect({ port: (server.address() as AddressInfo).port, rejectUnauthorized: false });
      await once(socket, "secureConnect");
      const { raw } = socket.getPeerCertificate();
      socket.destroy();
      return raw.equals(Buffer.from(ours.cert.replace(/-----[^-]+-----|\s/g, ""), "base64")) ? "old" : "renewed";
    };
    await watch.poll();
    expect([await shown(), errors]).toEqual(["old", []]);

    // As certbot does it: writes new files, then changes the links one after the other.
    await writeFile(join(directory, "cert2.pem"), renewed.cert);
    await symlink("cert2.pem", join(directory, "next"));
    await rename(join(directory, "next"), files.certFile);
    await watch.poll();
    expect([await shown(), errors]).toEqual(["old", [expect.stringMatching(/is not the key of the certificate/)]]);
    await writeFile(files.keyFile, renewed.key);
    await watch.poll();
    expect([await shown(), errors.length]).toEqual(["renewed", 1]);
    watch.close();
    server.close();
  });
});

describe("TLS to the database", () => {
  let stand: { port: number; close(): void; encrypted: number };
  beforeEach(async () => {
    stand = await startTlsFront(new URL(inject("serverUrl")));
  });
  afterEach(() => stand.close());

  /** Queries the database through the TLS server in front of it. @returns the error as an operator reads it */
  async function ask(query: string): Promise<string> {
    const url = new URL(inject("serverUrl"));
    url.port = String(stand.port);
    url.search = query;
    const db = openDatabase({ connectionString: url.href });
    try {
      await ping(db);
      return "";
    } catch (error) {
      return String(explainDatabaseFailure(error, { databaseUrl: url.href, dataDir: directory }));
    } finally {
      await db.close();
    }
  }

  it("means what sslmode means to PostgreSQL's own programs, and nobody is warned of anything", async () => {
    const warned = vi.spyOn(process, "emitWarning");
    const ca = `sslrootcert=${encodeURIComponent(files.certFile)}`;
    expect(await ask("?sslmode=require")).toBe("");
    expect(stand.encrypted).toBe(1);
    expect(await ask(`?sslmode=verify-ca&${ca}`)).toBe("");
    expect(await ask(`?sslmode=verify-full&${ca}`)).toBe("");
    expect(stand.encrypted).toBe(3);
    const refused = await ask("?sslmode=verify-full");
    expect(refused).toMatch(
      /^ConfigError: DATABASE_URL: the certificate of 127\.0\.0\.1:\d+ is not trusted\. Give its authority with sslrootcert=<file>/,
    );
    await writeFile(files.certFile, named.cert);
    expect(await ask(`?sslmode=verify-full&${ca}`)).toMatch(/is not trusted/);
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });
});

/** Starts a TLS server in front of a PostgreSQL without TLS. It behaves like one with `ssl = on`. */
async function startTlsFront(target: URL) {
  const state = { encrypted: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("data", () => {
      socket.write("S");
      const secure = new TLSSocket(socket, { isServer: true, cert: ours.cert, key: ours.key });
      const inner = connectPlain(Number(target.port), target.hostname);
      secure.on("secure", () => state.encrypted++);
      secure.on("error", () => inner.destroy());
      inner.on("error", () => secure.destroy());
      secure.on("close", () => inner.destroy());
      secure.pipe(inner).pipe(secure);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
    get encrypted() {
      return state.encrypted;
    },
  };
}
