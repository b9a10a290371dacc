/*
 * Simulates the network outside of the machines: a name server, a proxy that leads only to the registries of Debian and npm,
 * and a registry for the server's package. outside.ts simulates the servers of others.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GATEWAY, SUITE } from "./machines.ts";

/**
 * An address from a public range, because webhooks are sent only to public addresses. It exists only on the bridge of the
 * machines.
 */
export const PUBLIC_ADDRESS = "192.31.196.10";
/** The address of the ACME authority, which stands for Let's Encrypt: partners' programs trust the certificates it signs. */
export const ACME_ADDRESS = "192.31.196.11";
/** The usual ports of such servers (Squid, Verdaccio). Any free port would do. */
const PROXY_PORT = 3128;
const REGISTRY_PORT = 4873;
/** The only addresses that the machines can reach outside their network. */
const REACHABLE = ["deb.debian.org:80", "registry.npmjs.org:443"];
/** The addresses to which the name server resolves the names on the guide's pages. 10.77.0.x are the machines. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  "city.example.com": ["10.77.0.16"],
  "bikes.example.com": ["10.77.0.11", "10.77.0.12"],
  "mail.example.com": [PUBLIC_ADDRESS],
  "journeys.example.org": [PUBLIC_ADDRESS],
  "acme-v02.api.letsencrypt.org": [ACME_ADDRESS],
};

/** Prepares an empty machine for the simulated network. The commands of the pages are not changed. */
export function joinWorld(root: string, name: string): void {
  writeFileSync(join(root, "etc/hostname"), `${name}\n`);
  // Adds files that every installed system has and that debootstrap does not create.
  writeFileSync(join(root, "etc/hosts"), "127.0.0.1 localhost\n::1 localhost ip6-localhost\n");
  const security = `deb http://deb.debian.org/debian-security ${SUITE}-security main\n`;
  writeFileSync(join(root, "etc/apt/sources.list.d/security.list"), security);
  // The names in the examples belong to nobody, so the simulated name server resolves them.
  writeFileSync(join(root, "etc/resolv.conf"), `nameserver ${GATEWAY}\n`);
  // Uses a proxy, because it is the only way to the two registries.
  const proxy = `http://${GATEWAY}:${PROXY_PORT}`;
  writeFileSync(join(root, "etc/apt/apt.conf.d/90world"), `Acquire::http::Proxy "${proxy}";\n`);
  // The packages of this repository are not published, so npm gets them from a simulated registry.
  const npm = [`@bikeshare:registry=http://${GATEWAY}:${REGISTRY_PORT}/`, `https-proxy=${proxy}`, `noproxy=${GATEWAY}`];
  // If this machine needs an additional certificate authority to reach npm's registry, the machines get it too.
  const authorities = process.env["NODE_EXTRA_CA_CERTS"];
  if (authorities !== undefined && existsSync(authorities)) {
    cpSync(authorities, join(root, "etc/ssl/world.pem"));
    npm.push("cafile=/etc/ssl/world.pem");
  }
  writeFileSync(join(root, "root/.npmrc"), `${npm.join("\n")}\n`);
}

/** The simulated network. Its registry has two versions of the server; machines begin with the older one. */
export interface World {
  /** Publishes the newer version, as a release does. */
  release(): void;
  /** Unpublishes the newer version, for machines that begin with the older one. */
  retract(): void;
  close(): void;
}

/** Starts the servers of the simulated network. @param server the directory of the built server */
export async function startWorld(server: string): Promise<World> {
  const registry = new Registry(server);
  const listeners = [await listen(registry.server, REGISTRY_PORT), await listen(startProxy(), PROXY_PORT)];
  const nameServer = await startNameServer();
  return {
    release: () => registry.release(),
    retract: () => registry.retract(),
    close: () => {
      for (const listener of listeners) listener.close().closeAllConnections();
      nameServer.close();
      registry.close();
    },
  };
}

async function listen(server: Server, port: number): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  server.on("error", reject).listen(port, GATEWAY, () => resolve(server));
  return promise;
}

/** A registry with one package: the packed server, and the same again as a later version. */
class Registry {
  readonly #directory = mkdtempSync(join(tmpdir(), "bikeshare-registry-"));
  readonly #versions: { readonly version: string; readonly manifest: object; readonly tarball: Buffer }[] = [];
  /** How many of the versions are published. */
  #released = 1;
  readonly server: Server;

  constructor(root: string) {
    const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", this.#directory];
    const output = execFileSync("pnpm", pack, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const { filename } = JSON.parse(output) as { filename: string };
    execFileSync("tar", ["-xzf", filename, "-C", this.#directory]);
    const file = join(this.#directory, "package/package.json");
    const manifest = JSON.parse(readFileSync(file, "utf8")) as { version: string };
    for (const increment of [0, 1]) {
      const version = manifest.version.replace(/\d+$/, (patch) => String(Number(patch) + increment));
      writeFileSync(file, JSON.stringify({ ...manifest, version }));
      const tarball = join(this.#directory, `${version}.tgz`);
      execFileSync("tar", ["-czf", tarball, "package"], { cwd: this.#directory });
      this.#versions.push({ version, manifest: { ...manifest, version }, tarball: readFileSync(tarball) });
    }
    this.server = createServer(({ url = "" }, response) => {
      const found = this.#versions.find(({ version }) => url === `/server-${version}.tgz`);
      if (found !== undefined) response.end(found.tarball);
      else response.setHeader("content-type", "application/json").end(JSON.stringify(this.#document()));
    });
  }

  /** Returns what npm reads of the package: its published versions. */
  #document(): object {
    const known = this.#versions.slice(0, this.#released);
    const versions = known.map(({ version, manifest, tarball }) => {
      const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
      const address = `http://${GATEWAY}:${REGISTRY_PORT}/server-${version}.tgz`;
      return [version, { ...manifest, dist: { tarball: address, integrity } }] as const;
    });
    const latest = known.at(-1)?.version;
    return { name: "@bikeshare/server", "dist-tags": { latest }, versions: Object.fromEntries<object>(versions) };
  }

  release(): void {
    this.#released = this.#versions.length;
  }

  retract(): void {
    this.#released = 1;
  }

  close(): void {
    rmSync(this.#directory, { recursive: true });
  }
}

/** Starts a proxy that forwards requests only to the reachable addresses. */
function startProxy(): Server {
  const proxy = createServer((incoming, outgoing) => {
    const url = new URL(incoming.url ?? "/", "http://nowhere");
    if (!REACHABLE.includes(`${url.hostname}:${url.port || 80}`)) return void outgoing.writeHead(403).end();
    const call = request(url, { method: incoming.method ?? "GET", headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    call.on("error", () => outgoing.destroy());
    incoming.pipe(call);
  });
  // A client uses CONNECT for https, as npm does.
  return proxy.on("connect", ({ url = "" }, caller) => {
    const [host = "", port] = url.split(":");
    if (!REACHABLE.includes(url)) return void caller.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const far = connect(Number(port), host, () => {
      caller.write("HTTP/1.1 200 Connected\r\n\r\n");
      far.pipe(caller).pipe(far);
    });
    far.on("error", () => caller.destroy());
    caller.on("error", () => far.destroy());
  });
}

/** Starts a name server that resolves NAMES. All other names do not exist. */
function startNameServer(): Promise<DatagramSocket> {
  const socket = createSocket("udp4");
  socket.on("message", (question, { port, address }) => {
    // Behind the header of 12 bytes the name is a list of labels, each after its length. A length of 0 ends it.
    let [name, at] = ["", 12];
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      name += `${question.toString("latin1", at + 1, at + 1 + length)}.`;
      at += length + 1;
    }
    const found = NAMES[name.slice(0, -1).toLowerCase()];
    const isForIpv4 = question.readUInt16BE(at + 1) === 1;
    const answers = isForIpv4 ? (found ?? []) : [];
    // The answer's header: the id of the question, the flags (code 3: no such name), and the numbers of records.
    const head = Buffer.alloc(12);
    question.copy(head, 0, 0, 2);
    head.writeUInt16BE(found === undefined ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(answers.length, 6);
    // A record: a pointer to the name in the question, type A, class IN, 60 s, and 4 bytes of address.
    const records = answers.map((ip) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...ip.split(".").map(Number)]),
    );
    socket.send(Buffer.concat([head, question.subarray(12, at + 5), ...records]), port, address);
  });
  const { promise, resolve, reject } = Promise.withResolvers<DatagramSocket>();
  socket.on("error", reject).bind(53, GATEWAY, () => resolve(socket));
  return promise;
}
