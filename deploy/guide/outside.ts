/* Servers of others, with certificates of an authority that every machine trusts: a mail server and a partner's receiver. */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SmtpServer, startSmtpServer } from "../../apps/server/test/servers/smtp-server.ts";

/** What a partner's receiver was sent. */
interface ReceivedDelivery {
  readonly signature: string;
  readonly body: string;
}

export interface Outside {
  readonly mail: SmtpServer;
  readonly deliveries: readonly ReceivedDelivery[];
  close(): Promise<void>;
}

/** An authority as those that every system comes with. */
export class PublicAuthority {
  readonly #directory = mkdtempSync(join(tmpdir(), "bikeshare-authority-"));

  constructor() {
    const subject = ["-subj", "/CN=A public authority", "-addext", "keyUsage=critical,keyCertSign"];
    this.#openssl("req", "-x509", ...NEW_KEY, "-days", "2", ...subject, "-keyout", "key", "-out", "cert");
  }

  #openssl(...args: readonly string[]): void {
    execFileSync("openssl", args, { cwd: this.#directory, stdio: ["ignore", "pipe", "pipe"] });
  }

  #certify(name: string): { readonly key: string; readonly cert: string } {
    this.#openssl("req", ...NEW_KEY, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
    writeFileSync(join(this.#directory, "extensions"), `subjectAltName=DNS:${name}\n`);
    const signed = ["-CA", "cert", "-CAkey", "key", "-extfile", "extensions", "-out", `${name}.pem`];
    this.#openssl("x509", "-req", "-days", "2", "-in", `${name}.csr`, ...signed);
    const read = (file: string) => readFileSync(join(this.#directory, file), "utf8");
    return { key: read(`${name}.key`), cert: read(`${name}.pem`) };
  }

  /** Lets a machine trust it. */
  joinStore(root: string): void {
    const store = join(root, "usr/local/share/ca-certificates");
    mkdirSync(store, { recursive: true });
    const certificate = readFileSync(join(this.#directory, "cert"));
    writeFileSync(join(store, "public.crt"), certificate);
    // As `update-ca-certificates` would, which takes seconds.
    appendFileSync(join(root, "etc/ssl/certs/ca-certificates.crt"), certificate);
  }

  /** Starts the servers at an address that their names lead to. */
  async startServers(address: string): Promise<Outside> {
    const greeting = "250-here\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN";
    const tls = { from: "STARTTLS" as const, ...this.#certify("mail.example.com") };
    const mail = await startSmtpServer({ tls, answers: { EHLO: greeting, AUTH: "235 welcome" } }, 587, address);
    const deliveries: ReceivedDelivery[] = [];
    const receiver = createServer(this.#certify("journeys.example.org"), (request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => (body += text));
      request.on("end", () => {
        deliveries.push({ signature: String(request.headers["service-signature"]), body });
        response.writeHead(204).end();
      });
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    receiver.on("error", reject).listen(443, address, resolve);
    await promise;
    const close = async () => {
      receiver.close().closeAllConnections();
      await mail.close();
      rmSync(this.#directory, { recursive: true });
    };
    return { mail, deliveries, close };
  }
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"];
