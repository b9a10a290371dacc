import { expect, test } from "vitest";
import { gbfsPage } from "./page.ts";

test("a page says how long it holds and whether its date tells it apart", () => {
  const page = gbfsPage({ json: "{}", lastUpdated: new Date(0), sharesSecond: true, ttl: 10 });
  expect(page).toMatchObject({
    cacheControl: "public, max-age=10",
    lastModified: "Thu, 01 Jan 1970 00:00:00 GMT",
    datedExactly: false,
  });
});

test("a page is had in gzip or as it is, whatever else a caller takes", async () => {
  const page = gbfsPage({ json: "x".repeat(5000), lastUpdated: new Date(0), sharesSecond: false, ttl: 10 });
  expect((await page.inCoding("zstd, br, gzip;q=0.1")).coding).toBe("gzip");
  expect((await page.inCoding("zstd, br")).coding).toBeUndefined();
});
