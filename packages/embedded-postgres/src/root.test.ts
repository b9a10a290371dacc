import { chmod, chown, cp, mkdir, mkdtemp, readlink, realpath, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answers, openHarness, query, type Harness } from "../test/embedded-postgres.harness.ts";
import { findNative, program, runnableBinaries } from "./binaries.ts";
import { dataOf } from "./cluster.ts";
import { canEnter, ensureTrustedDirectory, findAccount, isRoot, runAs } from "./operating-system.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness({ enterable: false });
});
afterEach(() => harness.clear());

const nobody = await findAccount(["nobody"]).catch(() => undefined);

describe.skipIf(!isRoot() || process.platform !== "linux" || !nobody)("started as root", () => {
  it("keeps the cluster outside a data directory that only root may enter, and finds it again", async () => {
    const first = await harness.startUser();
    const home = await harness.home();
    expect(home.startsWith(harness.systemDirectory)).toBe(true);
    expect((await stat(dataOf(home))).uid).not.toBe(0);
    expect((await stat(join(home, "connection.json"))).mode & 0o777).toBe(0o600);
    await query(first.connectionString, "create table kept as select 1 as one");
    await first.close();
    const second = await harness.startUser();
    expect(await query(second.connectionString, "select one from kept")).toEqual([{ one: 1 }]);
  });

  it("gives a data directory made anew at the same path a cluster of its own", async () => {
    const first = await harness.startUser();
    await first.close();
    const firstHome = await harness.home();
    await rm(harness.dataDir, { recursive: true });
    const second = await harness.startUser();
    expect(second.connectionString).not.toBe(first.connectionString);
    await second.close();
    await rm(firstHome, { recursive: true });
  });

  it("does not replace a cluster that its pointer names and that is gone, and says what to do", async () => {
    const first = await harness.startUser();
    await first.close();
    await rm(await harness.home(), { recursive: true });
    await expect(harness.startUser()).rejects.toThrow(/is not there.*Restore that directory/);
  });

  it("leaves the mode of a directory that was there as it is", async () => {
    await mkdir(harness.dataDir, { mode: 0o700 });
    await harness.startUser();
    expect((await stat(harness.dataDir)).mode & 0o777).toBe(0o700);
  });

  it("runs an existing cluster of another account as that account", async () => {
    if (!nobody) return;
    const open = await openHarness({ enterable: true });
    try {
      await mkdir(open.dataDir);
      await chown(open.dataDir, nobody.uid, nobody.gid);
      const unprivileged = await open.startUser(nobody);
      await query(unprivileged.connectionString, "create table kept as select 1 as one");
      await unprivileged.close();
      const asRoot = await open.startUser();
      expect(await query(asRoot.connectionString, "select one from kept")).toEqual([{ one: 1 }]);
      await asRoot.close();
      const again = await open.startUser(nobody);
      expect(await answers(again.connectionString)).toBe(true);
    } finally {
      await open.clear();
    }
  });

  it("refuses a system directory that another account made or may write", async () => {
    if (!nobody) return;
    await mkdir(harness.systemDirectory);
    await chown(harness.systemDirectory, nobody.uid, nobody.gid);
    await expect(harness.startUser()).rejects.toThrow(/cannot be trusted.*Remove it/);
    await chown(harness.systemDirectory, 0, 0);
    await chmod(harness.systemDirectory, 0o777);
    await expect(harness.startUser()).rejects.toThrow(/cannot be trusted/);
  });

  it("refuses a system directory that is a link", async () => {
    const target = join(harness.systemDirectory, "..", "elsewhere");
    await mkdir(target);
    await symlink(target, harness.systemDirectory);
    await expect(ensureTrustedDirectory(harness.systemDirectory)).rejects.toThrow(/is a link/);
  });
});

describe.skipIf(!isRoot() || process.platform !== "linux" || !nobody)(
  "binaries in a checkout that only root may enter",
  () => {
    let checkout: string;
    beforeEach(async () => {
      checkout = await realpath(await mkdtemp(join(tmpdir(), "embedded-checkout-")));
    });
    afterEach(() => rm(checkout, { recursive: true, force: true }));

    it("are copied once to where the account can run them, with the library links made, writable by root alone", async () => {
      if (!nobody) return;
      const installed = await findNative();
      const native = { version: installed.version, directory: join(checkout, "native") };
      await cp(installed.directory, native.directory, {
        recursive: true,
        filter: async (path) => !/\.so(\.\d+)?$/.test(path) || !(await isLink(path)),
      });
      expect(await canEnter(nobody, native.directory)).toBe(false);
      const copies: string[] = [];
      const options = {
        native,
        account: nobody,
        copyBases: [harness.systemDirectory],
        log: () => copies.push("copied"),
      };
      const [copy, same] = [await runnableBinaries(options), await runnableBinaries(options)];
      expect(same).toBe(copy);
      expect(copies).toHaveLength(1);
      expect((await runAs(nobody, program(copy, "initdb"), ["--version"])).output).toContain("(PostgreSQL) 18");
      const { uid, mode } = await stat(copy);
      expect({ uid, mode: mode & 0o777 }).toEqual({ uid: 0, mode: 0o755 });
      expect(await readlink(join(copy, "lib", "libpq.so.5"))).toMatch(/^libpq\.so\.5\.\d+$/);
      await chmod(copy, 0o777);
      await expect(runnableBinaries(options)).rejects.toThrow(/cannot be trusted/);
    });

    it("keep one copy when several installations copy at once", async () => {
      if (!nobody) return;
      const installed = await findNative();
      const native = { version: installed.version, directory: join(checkout, "native") };
      await cp(installed.directory, native.directory, { recursive: true });
      const options = { native, account: nobody, copyBases: [harness.systemDirectory], log: () => {} };
      const [one, other] = await Promise.all([runnableBinaries(options), runnableBinaries(options)]);
      expect(one).toBe(other);
      expect((await runAs(nobody, program(one, "postgres"), ["--version"])).ok).toBe(true);
    });
  },
);

async function isLink(path: string): Promise<boolean> {
  return readlink(path).then(
    () => true,
    () => false,
  );
}
