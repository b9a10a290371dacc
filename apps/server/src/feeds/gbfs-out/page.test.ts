import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { gbfsPage, takesGzip } from "./page.ts";

const page = (json: string) => gbfsPage({ json, lastUpdated: new Date(0), sharesSecond: false, ttl: 10 });

test("a large page is compressed once, into the same content; a small one is not kept twice", async () => {
  const large = page("x".repeat(100_000));
  const [first, second] = await Promise.all([large.gzipped?.(), large.gzipped?.()]);
  expect(first).toBe(second);
  expect(gunzipSync(first ?? "").toString()).toBe("x".repeat(100_000));
  expect(page("{}").gzipped).toBeUndefined();
});

test.each(["gzip", "br, gzip", "GZIP;q=0.5", "deflate, gzip;q=1.0, *;q=0", "x-gzip"])("%j takes gzip", (accepted) => {
  expect(takesGzip(accepted)).toBe(true);
});

test.each([undefined, "", "identity", "br", "gzip;q=0", "gzip; q=0.00, br", "gzipped", "*;q=0"])(
  "%j does not ask for gzip",
  (accepted) => {
    expect(takesGzip(accepted)).toBe(false);
  },
);
