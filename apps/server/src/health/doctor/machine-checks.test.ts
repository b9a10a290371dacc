import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeCertificate } from "../../../test/servers/certificates.ts";
import { readConfig } from "../../config.ts";
import type { CheckResult } from "../checks/check.ts";
import { judgeFreeSpace } from "../checks/machine-checks.ts";
import { checkMachine } from "./checks.ts";

/** An address on which nothing listens. */
const NOBODY = "127.0.0.1:1";

let directory: string;
let server: Server | undefined;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-machine-"));
  await mkdir(join(directory, "data"));
  await writeFile(join(directory, "data/secrets.json"), "{}", { mode: 0o600 });
});
afterEach(async () => {
  server?.close();
  await rm(directory, { recursive: true });
});

/** Returns the checks that are not ok, except the disk space of the machine that runs the tests. */
async function found(env: Readonly<Record<string, string>> = {}): Promise<CheckResult[]> {
  const config = readConfig({ DATA_DIR: join(directory, "data"), ...env }, directory);
  const all = await checkMachine(config, performance.timeOrigin + performance.now());
  return all.filter(({ status, detail }) => status !== "ok" && !detail.endsWith("GiB free"));
}

const named = ({ check, status }: CheckResult) => `${status} ${check}`;

describe("doctor finds on the machine", () => {
  it("nothing where all is well", async () => {
    expect(await found()).toEqual([]);
  });

  it("a secrets file that others can read; the command that it names mends that", async () => {
    const path = join(directory, "data/secrets.json");
    await chmod(path, 0o640);
    const [finding, ...others] = await found();
    expect([finding && named(finding), others]).toEqual(["warning secrets file", []]);
    const [program = "", ...args] = finding?.fix?.split(" ") ?? [];
    execFileSync(program, args);
    expect(await found()).toEqual([]);
  });

  it("a secrets file and a data directory that are not there", async () => {
    await rm(join(directory, "data"), { recursive: true });
    expect((await found()).map(named)).toEqual(["failure secrets file", "failure data directory"]);
  });

  it.each([
    [30, []],
    [10, ["warning certificate"]],
    [-1, ["failure certificate"]],
  ])("a certificate that ends in %i days: %j", async (days, expected) => {
    const { key, cert } = await makeCertificate("127.0.0.1", days);
    await writeFile(join(directory, "cert.pem"), cert);
    await writeFile(join(directory, "key.pem"), key);
    const files = { TLS_CERT_FILE: join(directory, "cert.pem"), TLS_KEY_FILE: join(directory, "key.pem") };
    expect((await found(files)).map(named)).toEqual(expected);
    await rm(join(directory, "cert.pem"));
    expect((await found(files)).map(named)).toEqual(["failure certificate"]);
  });

  it("a Redis, a mail server and a feed that are not there, and not those that are", async () => {
    const away = await found({
      REDIS_URL: `redis://${NOBODY}`,
      SMTP_URL: `smtp://${NOBODY}`,
      MAIL_FROM: "bikes@bikes.example",
      GBFS_SYNC_URL: `http://${NOBODY}/gbfs.json`,
    });
    expect(away.map(named)).toEqual(["failure redis", "failure GBFS_SYNC_URL reachable", "failure SMTP_URL reachable"]);
    server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    expect(await found({ SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: "bikes@bikes.example" })).toEqual([]);
  });

  it("a schedule of backups that has made none", async () => {
    await mkdir(join(directory, "backups"));
    const [finding] = await found({ BACKUP_DIR: join(directory, "backups") });
    expect(finding).toMatchObject({ check: "latest backup", status: "warning" });
    expect(finding?.fix).toContain(`\`bikeshare backup ${join(directory, "backups")}\``);
    expect((await found({ BACKUP_DIR: join(directory, "none") })).map(named)).toEqual(["failure latest backup"]);
  });

  it.each([
    [true, 2.1, "ok"],
    [true, 1.9, "warning"],
    [true, 0.19, "failure"],
    [false, 0.21, "ok"],
    [false, 0.19, "warning"],
    [false, 0.019, "failure"],
  ] as const)("too little space: with the database there %s, %d GiB is %s", (hasDatabase, free, status) => {
    expect(judgeFreeSpace({ dataDir: "/data", free, hasDatabase }).status).toBe(status);
  });
});
