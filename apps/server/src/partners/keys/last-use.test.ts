import { expect, it } from "vitest";
import { createLastUses } from "./look-ups.ts";
import type { KeyUse } from "./queries.ts";

const use = (id: string, path: string): KeyUse => ({
  systemId: "main",
  id,
  at: new Date(0),
  path,
  address: "127.0.0.1",
});

it("writes the latest use of each key, once", async () => {
  const written: (readonly KeyUse[])[] = [];
  const uses = createLastUses(async (batch) => void written.push(batch));
  await uses.flush();
  uses.note(use("a", "/1"));
  uses.note(use("b", "/2"));
  uses.note(use("a", "/3"));
  await uses.flush();
  await uses.flush();
  expect(written).toEqual([[use("a", "/3"), use("b", "/2")]]);
});

it("loses only the notes it could not write", async () => {
  const written: (readonly KeyUse[])[] = [];
  let fails = true;
  const uses = createLastUses(async (batch) => {
    if (fails) throw new Error("away");
    written.push(batch);
  });
  uses.note(use("a", "/1"));
  await expect(uses.flush()).rejects.toThrow("away");
  fails = false;
  uses.note(use("a", "/2"));
  await uses.flush();
  expect(written).toEqual([[use("a", "/2")]]);
});
