import { expect, test } from "vitest";
import { healthRoutes } from "./health.ts";

function readiness(ping: () => Promise<void>) {
  const { ready } = healthRoutes({ pingDatabase: ping, isDraining: () => false, concerns: () => [] });
  return () => (ready as unknown as () => Promise<{ status: number }>)();
}

test("however many ask whether the process is ready, the database is asked once", async () => {
  let asked = 0;
  const looked = Promise.withResolvers<void>();
  const ready = readiness(() => {
    asked++;
    return looked.promise;
  });
  const first = Array.from({ length: 100 }, () => ready());
  looked.resolve();
  expect((await Promise.all(first)).every(({ status }) => status === 200)).toBe(true);
  for (let n = 0; n < 100; n++) await ready();
  expect(asked).toBe(1);
});

test("a database that is away is reported to every request that asks at the time", async () => {
  const ready = readiness(() => Promise.reject(new Error("away")));
  for (const answer of await Promise.allSettled([ready(), ready()])) expect(answer.status).toBe("rejected");
});
