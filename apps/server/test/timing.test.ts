import { afterAll, beforeAll, expect, it } from "vitest";
import { makeKey } from "../src/partners/keys/key.rules.ts";
import { revokeKey } from "../src/partners/keys/service.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { keyContext } from "./built-app.ts";
import { signIn } from "./sign-in.ts";

/*
 * Tests that the duration of a refusal reveals nothing, such as whether a key exists. The compared requests take turns, and
 * their medians are compared, so that a busy machine affects all alike.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Returns the median milliseconds of each kind of request over `passes` rounds. */
async function compare(passes: number, requests: Readonly<Record<string, () => Promise<() => Promise<Response>>>>) {
  const times = new Map<string, number[]>();
  for (let round = 0; round < passes; round++) {
    // Advances the clock, so that the limits of failed authentications and sign-ins start again.
    app.clock.advance(16 * 60_000);
    for (const [name, prepare] of Object.entries(requests)) {
      const send = await prepare();
      const start = performance.now();
      const response = await send();
      await response.arrayBuffer();
      times.set(name, [...(times.get(name) ?? []), performance.now() - start]);
      expect([name, response.status]).toEqual([name, 401]);
    }
  }
  return new Map([...times].map(([name, values]) => [name, median(values)]));
}

function expectAlike(medians: ReadonlyMap<string, number>): void {
  const values = [...medians.values()];
  expect({ medians, ratio: Math.max(...values) / Math.min(...values) }).toMatchObject({
    ratio: expect.toSatisfy((ratio: number) => ratio < 2) as number,
  });
}

it("an unknown key, a revoked one and an expired one take as long to be refused, each seen for the first time", async () => {
  // Makes the same changes of keys before each request, because their effects would otherwise slow down only some requests.
  const prepare = async (choose: (keys: { revoked: string; expired: string; unknown: string }) => string) => {
    const revoked = await app.issue();
    const expired = await app.issue({ expiresAt: new Date(app.clock()) });
    await revokeKey(keyContext(app), app.systemId, revoked.id);
    const unknown = makeKey("live", (bytes) => app.ids.randomBytes(bytes));
    const key = choose({ revoked: revoked.key, expired: expired.key, unknown });
    return () => app.get("/v1/me", { key });
  };
  const medians = await compare(25, {
    unknown: () => prepare(({ unknown }) => unknown),
    revoked: () => prepare(({ revoked }) => revoked),
    expired: () => prepare(({ expired }) => expired),
  });
  expectAlike(medians);
});

it("an account with a password, one without and none take as long to be refused", async () => {
  const { personId, call } = await signIn(app, { partnerId: app.partnerId });
  await call("PUT", "/console/v1/account/password", { password: "correct horse battery staple" });
  const without = await signIn(app, { partnerId: app.partnerId });
  const attempt = (email: string) => () =>
    Promise.resolve(() =>
      fetch(`${app.url}/console/v1/sign-in/password`, {
        method: "POST",
        headers: { origin: app.url, "content-type": "application/json" },
        body: JSON.stringify({ email, password: "some other long password" }),
      }),
    );
  const medians = await compare(11, {
    known: attempt(`${personId}@example.com`),
    "without a password": attempt(`${without.personId}@example.com`),
    unknown: attempt("nobody@example.com"),
  });
  expectAlike(medians);
  // The audit entry about a wrong password is written after the response.
  const text = "select count(*) as n from audit_log where action = 'person.sign_in_refused' and subject = $1";
  const refused = async () => (await app.db.query<{ n: number }>({ name: "timing.refused", text }, [personId]))[0]?.n;
  await expect.poll(refused).toBe(11);
});
