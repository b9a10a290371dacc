import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { changeSecretsFile, loadSecrets } from "./secrets.ts";

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "bikeshare-secrets-"));
  file = join(directory, "data", "secrets.json");
});

afterEach(() => rm(directory, { recursive: true, force: true }));

it("are made where there are none, readable by their owner alone, and stay the same", async () => {
  const made = await loadSecrets(file, randomBytes);
  expect(made.cursorKeys).toHaveLength(1);
  expect(made.cursorKeys[0]?.key).toHaveLength(32);
  expect(made.webhookKeys).toHaveLength(1);
  expect(made.webhookKeys[0]?.key).toHaveLength(32);
  expect(made.webhookKeys[0]?.key).not.toEqual(made.cursorKeys[0]?.key);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  // Other accounts may enter the directory, because the account of our own PostgreSQL must, but not list it.
  expect((await stat(join(directory, "data"))).mode & 0o066).toBe(0);
  expect(await loadSecrets(file, randomBytes)).toEqual(made);
});

it("are random: two files hold other keys", async () => {
  const [one, other] = [
    await loadSecrets(file, randomBytes),
    await loadSecrets(join(directory, "other.json"), randomBytes),
  ];
  expect(one).not.toEqual(other);
});

it("are the same for all that make them at the same time, and never half there", async () => {
  for (let round = 0; round < 40; round++) {
    const shared = join(directory, `round-${round}`, "secrets.json");
    let made = false;
    const watch = async () => {
      while (!made) {
        const seen = await readFile(shared, "utf8").catch(() => undefined);
        if (seen !== undefined) expect(seen.trimEnd().endsWith("}"), `half a file: ${JSON.stringify(seen)}`).toBe(true);
      }
    };
    const watching = Promise.all([watch(), watch(), watch()]);
    const all = await Promise.all(Array.from({ length: 4 }, () => loadSecrets(shared, randomBytes)));
    made = true;
    await watching;
    for (const secrets of all) expect(secrets).toEqual(all[0]);
    expect(await readdir(dirname(shared))).toEqual(["secrets.json"]);
  }
});

it("may hold several cursor keys, the encrypting one first", async () => {
  await loadSecrets(file, randomBytes);
  const key = (byte: number) => Buffer.alloc(32, byte).toString("base64url");
  await writeFile(
    file,
    JSON.stringify({
      cursor_keys: [
        { id: 2, key: key(2) },
        { id: 1, key: key(1) },
      ],
    }),
  );
  expect(
    (await loadSecrets(file, randomBytes)).cursorKeys.map(({ id, key: bytes }) => [id, bytes[0], bytes.length]),
  ).toEqual([
    [2, 2, 32],
    [1, 1, 32],
  ]);
});

describe("of an earlier version, without a key for webhooks", () => {
  const key = (byte: number) => Buffer.alloc(32, byte).toString("base64url");
  const old = {
    cursor_keys: [
      { id: 7, key: key(7) },
      { id: 3, key: key(3) },
    ],
    note: "kept by the operator",
  };
  const writeOldFile = async (path: string, mode = 0o600) => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify(old), { mode });
  };

  it("get one, and keep everything else, their mode, and stay behind a link", async () => {
    const real = join(directory, "elsewhere", "real.json");
    await writeOldFile(real, 0o640);
    await mkdir(dirname(file), { recursive: true });
    await symlink(real, file);
    const loaded = await loadSecrets(file, randomBytes);
    expect(loaded.cursorKeys.map(({ id }) => id)).toEqual([7, 3]);
    expect(loaded.webhookKeys.map(({ key: bytes }) => bytes.length)).toEqual([32]);
    expect(JSON.parse(await readFile(real, "utf8"))).toMatchObject(old);
    expect((await stat(real)).mode & 0o777).toBe(0o640);
    expect(await readdir(dirname(real))).toEqual(["real.json", "real.json.lock"]);
    expect(await readlink(file)).toBe(real);
    expect(await loadSecrets(file, randomBytes)).toEqual(loaded);
  });

  it("get the same one in every copy of the file, so that machines that are upgraded apart agree", async () => {
    const [here, there] = [join(directory, "here.json"), join(directory, "there.json")];
    await writeOldFile(here);
    await writeOldFile(there);
    expect(await loadSecrets(here, randomBytes)).toEqual(await loadSecrets(there, randomBytes));
  });

  it("get it once when many start at the same time, and are never half there", async () => {
    for (let round = 0; round < 40; round++) {
      const shared = join(directory, `upgrade-${round}`, "secrets.json");
      await writeOldFile(shared);
      let done = false;
      const watch = async () => {
        while (!done) expect(JSON.parse(await readFile(shared, "utf8"))).toMatchObject(old);
      };
      const watching = Promise.all([watch(), watch()]);
      const all = await Promise.all(Array.from({ length: 4 }, () => loadSecrets(shared, randomBytes)));
      done = true;
      await watching;
      for (const secrets of all) expect(secrets).toEqual(all[0]);
      expect(await readdir(dirname(shared))).toEqual(["secrets.json", "secrets.json.lock"]);
    }
  });

  it("lose nothing that an operator writes into the file meanwhile", async () => {
    await writeOldFile(file);
    const added = { ...old, cursor_keys: [{ id: 9, key: key(9) }, ...old.cursor_keys] };
    let edited = false;
    // `changeSecretsFile` asks for random bytes after it has read the file and before it replaces the file.
    const edit = (bytes: number) => {
      if (!edited) writeFileSync(file, JSON.stringify(added));
      edited = true;
      return randomBytes(bytes);
    };
    expect((await loadSecrets(file, edit)).cursorKeys.map(({ id }) => id)).toEqual([9, 7, 3]);
  });

  it("that cannot be written stop the start and say how to go on", async () => {
    await writeOldFile(file);
    const failing = () => {
      throw new Error("read-only");
    };
    await expect(loadSecrets(file, failing)).rejects.toThrow(/has no webhook_keys yet.*writable for one start/);
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual(old);
  });
});

it("keep every key that several writers add at the same time", async () => {
  for (let round = 0; round < 40; round++) {
    const shared = join(directory, `round-${round}`, "secrets.json");
    await loadSecrets(shared, randomBytes);
    const add = (id: number) => {
      const key = { id, key: Buffer.alloc(32, id).toString("base64url") };
      return changeSecretsFile(
        shared,
        (before) => ({ ...before, cursor_keys: [...before.cursor_keys, key] }),
        randomBytes,
      );
    };
    await Promise.all([2, 3, 4, 5].map(add));
    const ids = (await loadSecrets(shared, randomBytes)).cursorKeys.map(({ id }) => id);
    expect(new Set(ids)).toEqual(new Set([1, 2, 3, 4, 5]));
  }
});

it.each([
  "",
  "{",
  "null",
  "{}",
  `{"cursor_keys":[]}`,
  `{"cursor_keys":[{"id":1,"key":"short"}]}`,
  `{"cursor_keys":[{"id":256,"key":"${"A".repeat(43)}"}]}`,
  `{"cursor_keys":[{"id":1,"key":"${"A".repeat(43)}"},{"id":1,"key":"${"B".repeat(42)}A"}]}`,
  `{"cursor_keys":[{"id":1,"key":"${"A".repeat(43)}"}],"webhook_keys":[]}`,
  `{"cursor_keys":[{"id":1,"key":"${"A".repeat(43)}"}],"webhook_keys":[{"id":1,"key":"AAAA"}]}`,
])("that are damaged are refused, left as they are, and not repeated: %s", async (contents) => {
  await loadSecrets(file, randomBytes);
  await writeFile(file, contents);
  const failure = await loadSecrets(file, randomBytes).catch((error: unknown) => error);
  expect(String(failure)).toContain(`${file} is damaged`);
  expect(String(failure)).not.toContain("AAAA");
  expect(await readFile(file, "utf8")).toBe(contents);
});

it("at a path that cannot be read are an error, not made anew", async () => {
  await expect(loadSecrets(directory, randomBytes)).rejects.toThrow(/EISDIR/);
});
