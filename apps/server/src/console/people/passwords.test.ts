import { expect, it } from "vitest";
import { createPasswordHashing } from "./passwords.ts";

it("verifies a password that it has hashed, and no other", async () => {
  const passwords = createPasswordHashing();
  const hash = await passwords.hash("correct horse battery staple", "ada");
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await passwords.verify(hash, "correct horse battery staple", "ada")).toBe(true);
  expect(await passwords.verify(hash, "correct horse battery stable", "ada")).toBe(false);
});

it("verifies nothing against no hash, and takes as long for it", async () => {
  const passwords = createPasswordHashing();
  const hash = await passwords.hash("correct horse battery staple", "ada");
  // Measures the processor time of this process and its threads, which other processes do not influence.
  const costOf = async (stored: string | null) => {
    const before = process.cpuUsage();
    expect(await passwords.verify(stored, "some other password", "ada")).toBe(false);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const costs = { none: [] as number[], wrong: [] as number[] };
  for (let attempt = 0; attempt < 9; attempt++) {
    costs.none.push(await costOf(null));
    costs.wrong.push(await costOf(hash));
  }
  const ratio = median(costs.none) / median(costs.wrong);
  expect(ratio).toBeGreaterThan(0.5);
  expect(ratio).toBeLessThan(2);
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

it("refuses whoever comes when too many wait, and serves everybody before", async () => {
  const passwords = createPasswordHashing();
  const hash = await passwords.hash("correct horse battery staple", "ada");
  const attempts = await Promise.allSettled(
    Array.from({ length: 60 }, (_, index) => passwords.verify(hash, "wrong", `network ${index}`)),
  );
  const refused = attempts.filter(({ status }) => status === "rejected");
  expect(refused).not.toHaveLength(0);
  expect(refused).toHaveLength(60 - 52);
  for (const attempt of refused) expect(attempt).toMatchObject({ reason: { code: "unavailable" } });
  expect(await passwords.verify(hash, "correct horse battery staple", "ada")).toBe(true);
});

it("lets nobody wait behind more than two attempts of one network", async () => {
  const passwords = createPasswordHashing();
  const hash = await passwords.hash("correct horse battery staple", "ada");
  const flood = Array.from({ length: 400 }, (_, index) => passwords.verify(hash, "wrong", `network ${index % 20}`));
  const answered = Promise.allSettled(flood);
  const honest = Array.from({ length: 4 }, (_, index) =>
    passwords.verify(hash, "correct horse battery staple", `person ${index}`),
  );
  expect(await Promise.all(honest)).toEqual([true, true, true, true]);
  const served = (await answered).filter(({ status }) => status === "fulfilled");
  // Two run at once, and two of each of the 20 networks wait: 2 + 2 × 20 = 42.
  expect(served.length).toBeLessThanOrEqual(42);
});
