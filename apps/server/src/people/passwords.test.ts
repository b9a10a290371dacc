import { expect, it } from "vitest";
import { createPasswordHashing } from "./passwords.ts";

it("verifies a password that it has hashed, and no other", async () => {
  const passwords = createPasswordHashing();
  const hash = await passwords.hash("correct horse battery staple");
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await passwords.verify(hash, "correct horse battery staple")).toBe(true);
  expect(await passwords.verify(hash, "correct horse battery stable")).toBe(false);
});

it("verifies nothing against no hash, and takes as long for it", async () => {
  const passwords = createPasswordHashing();
  const hash = await passwords.hash("correct horse battery staple");
  const timeOf = async (stored: string | null) => {
    const start = performance.now();
    expect(await passwords.verify(stored, "some other password")).toBe(false);
    return performance.now() - start;
  };
  const times = { none: Infinity, wrong: Infinity };
  // The fastest of each: whatever else runs only ever slows one down.
  for (let attempt = 0; attempt < 10; attempt++) {
    times.none = Math.min(times.none, await timeOf(null));
    times.wrong = Math.min(times.wrong, await timeOf(hash));
  }
  expect(times.none / times.wrong).toBeGreaterThan(0.5);
  expect(times.none / times.wrong).toBeLessThan(2);
});

it("refuses whoever comes when too many wait, and serves everybody before", async () => {
  const passwords = createPasswordHashing();
  const hash = await passwords.hash("correct horse battery staple");
  const attempts = await Promise.allSettled(Array.from({ length: 60 }, () => passwords.verify(hash, "wrong")));
  const refused = attempts.filter(({ status }) => status === "rejected");
  expect(refused).not.toHaveLength(0);
  expect(refused).toHaveLength(60 - 52);
  for (const attempt of refused) expect(attempt).toMatchObject({ reason: { code: "unavailable" } });
  expect(await passwords.verify(hash, "correct horse battery staple")).toBe(true);
});
