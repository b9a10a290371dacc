import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadSecrets } from "./secrets.ts";

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
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  // Others may pass through the directory, as the account of our own PostgreSQL must, but not look into it.
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

it("may hold several cursor keys, the sealing one first", async () => {
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

it.each([
  "",
  "{",
  "null",
  "{}",
  `{"cursor_keys":[]}`,
  `{"cursor_keys":[{"id":1,"key":"short"}]}`,
  `{"cursor_keys":[{"id":256,"key":"${"A".repeat(43)}"}]}`,
  `{"cursor_keys":[{"id":1,"key":"${"A".repeat(43)}"},{"id":1,"key":"${"B".repeat(42)}A"}]}`,
])("that are damaged are refused, left as they are, and not repeated: %s", async (contents) => {
  await loadSecrets(file, randomBytes);
  await writeFile(file, contents);
  const failure = await loadSecrets(file, randomBytes).catch((error: unknown) => error);
  expect(String(failure)).toContain(`${file} is damaged`);
  expect(String(failure)).not.toContain("AAAA");
  expect(await readFile(file, "utf8")).toBe(contents);
});

it("in a place that cannot be read are an error, not made anew", async () => {
  await expect(loadSecrets(directory, randomBytes)).rejects.toThrow(/EISDIR/);
});
