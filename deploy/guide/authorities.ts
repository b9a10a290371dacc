/*
 * Certificate authorities that every machine of the walk (walk.ts) trusts. One signs for simulated servers of others. The
 * other signs for anybody who answers its ACME challenge, as Let's Encrypt does.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, createServer, get, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"];

/** A certificate authority that stands for the public ones that every system trusts. */
export class PublicAuthority {
  readonly #directory = mkdtempSync(join(tmpdir(), "bikeshare-authority-"));

  constructor() {
    const subject = ["-subj", "/CN=A public authority", "-addext", "keyUsage=critical,keyCertSign"];
    this.#openssl("req", "-x509", ...NEW_KEY, "-days", "2", ...subject, "-keyout", "key", "-out", "cert");
  }

  #openssl(...args: readonly string[]): void {
    execFileSync("openssl", args, { cwd: this.#directory, stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Makes a key and a certificate for a name. */
  certify(name: string): { readonly key: string; readonly cert: string } {
    this.#openssl("req", ...NEW_KEY, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
    writeFileSync(join(this.#directory, "extensions"), `subjectAltName=DNS:${name}\n`);
    const signed = ["-CA", "cert", "-CAkey", "key", "-extfile", "extensions", "-out", `${name}.pem`];
    this.#openssl("x509", "-req", "-days", "2", "-in", `${name}.csr`, ...signed);
    const read = (file: string) => readFileSync(join(this.#directory, file), "utf8");
    return { key: read(`${name}.key`), cert: read(`${name}.pem`) };
  }

  /** The authority's own certificate, which machines must trust. */
  get certificate(): string {
    return readFileSync(join(this.#directory, "cert"), "utf8");
  }

  close(): void {
    rmSync(this.#directory, { recursive: true });
  }
}

/** Makes a machine trust authorities, like those that every system trusts. */
export function joinStore(root: string, certificates: readonly string[]): void {
  const store = join(root, "usr/local/share/ca-certificates");
  mkdirSync(store, { recursive: true });
  for (const [index, certificate] of certificates.entries()) {
    writeFileSync(join(store, `public-${index}.crt`), certificate);
    // Appends the certificate directly, because `update-ca-certificates` takes seconds.
    appendFileSync(join(root, "etc/ssl/certs/ca-certificates.crt"), certificate);
  }
}

/** The authority that signs for anybody who answers its challenge. */
export interface SigningAuthority {
  /** The root certificate of the authority. */
  readonly root: string;
  close(): Promise<void>;
}

/**
 * Starts an ACME authority for HTTP challenges, at the address that `certbot` uses by default. It is Debian's `pebble`
 * behind a server with that address, name and path.
 */
export async function startSigningAuthority(
  authority: PublicAuthority,
  address: string,
  nameServer: string,
): Promise<SigningAuthority> {
  const directory = mkdtempSync(join(tmpdir(), "bikeshare-acme-"));
  const { key, cert } = authority.certify(ACME_NAME);
  const [keyFile, certFile] = [join(directory, "key"), join(directory, "cert")];
  writeFileSync(keyFile, key);
  writeFileSync(certFile, cert);
  const listening = { listenAddress: `${address}:${ACME_PORT}`, managementListenAddress: `${address}:${ROOTS_PORT}` };
  const pebble = { ...listening, certificate: certFile, privateKey: keyFile, httpPort: 80, tlsPort: 443 };
  writeFileSync(join(directory, "config.json"), JSON.stringify({ pebble }));
  const args = ["-config", join(directory, "config.json"), "-dnsserver", `${nameServer}:53`];
  // By default, pebble waits before it requests the challenge file, and rejects one request in twenty to test its clients.
  const settings = { PEBBLE_VA_NOSLEEP: "1", PEBBLE_WFE_NONCEREJECT: "0" };
  const child = spawn("pebble", args, { stdio: "ignore", env: { ...process.env, ...settings } });
  const front = createServer({ key, cert }, (incoming, outgoing) => {
    const path = incoming.url === "/directory" ? "/dir" : incoming.url;
    const call = request(
      { host: address, port: ACME_PORT, method: incoming.method, headers: incoming.headers, path, agent: trustAny },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    call.on("error", () => outgoing.destroy());
    incoming.pipe(call);
  });
  front.listen(443, address);
  await once(front, "listening");
  const close = async () => {
    front.close().closeAllConnections();
    if (child.exitCode === null && child.kill()) await once(child, "exit");
    rmSync(directory, { recursive: true });
  };
  return { root: await rootOf(`https://${address}:${ROOTS_PORT}/roots/0`), close };
}

const ACME_NAME = "acme-v02.api.letsencrypt.org";
/** The ports that pebble uses by default: for ACME, and for its own root certificate. */
const [ACME_PORT, ROOTS_PORT] = [14_000, 15_000];
/** Accepts any certificate, because pebble is called by its IP address, which its certificate does not contain. */
const trustAny = new Agent({ rejectUnauthorized: false });

/** Returns pebble's root certificate, which it creates at each start. Waits up to 10 s until pebble answers. */
async function rootOf(url: string): Promise<string> {
  for (let tries = 0; ; tries++) {
    try {
      const [answer] = (await once(get(url, { agent: trustAny }), "response")) as [NodeJS.ReadableStream];
      return await text(answer);
    } catch (error) {
      if (tries === 100) throw error;
      await wait(100);
    }
  }
}
