import { expect, it } from "vitest";
import { createManifest, FORMAT } from "./archive.ts";
import { readManifest } from "./backup.ts";

const manifest = createManifest({
  made_at: "2026-11-24T04:00:00.000Z",
  program: "1.0.0",
  migrations: [1],
  tables: [{ name: "rides", columns: ["id"], rows: 0, bytes: 0 }],
});

it("a backup in the form of a newer version is refused as such, one that is damaged as damaged", () => {
  expect(readManifest("one.zip", JSON.stringify(manifest, null, 2))).toEqual(manifest);
  const newer = { ...manifest, format: FORMAT + 1, tables: "in another form" };
  expect(() => readManifest("one.zip", JSON.stringify(newer, null, 2))).toThrow(
    /^one\.zip was written by a newer version/,
  );
  const damaged = JSON.stringify({ ...manifest, tables: "something else" }, null, 2);
  for (const text of [damaged, damaged.slice(0, 40), "", "null"])
    expect(() => readManifest("one.zip", text)).toThrow(/^one\.zip is not a backup, or it is damaged/);
});
