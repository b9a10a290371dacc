import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify from "fastify";
import { afterAll, beforeAll, expect, it } from "vitest";
import { logoUrl, type MapTiles, serveDashboard } from "./dashboard.ts";

const SCRIPT = `console.log("${"x".repeat(2000)}");`;
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "bikeshare-dashboard-"));
  await mkdir(join(root, "built/assets"), { recursive: true });
  await writeFile(join(root, "built/index.html"), "<!doctype html><title>first</title>");
  await writeFile(join(root, "built/assets/index-abc.js"), SCRIPT);
});

afterAll(() => rm(root, { recursive: true, force: true }));

function open(folder = "built", frameAncestors: readonly string[] = [], mapTiles?: MapTiles) {
  const app = Fastify();
  serveDashboard(app, { directory: join(root, folder), ready: () => Promise.resolve(), frameAncestors, mapTiles });
  return app;
}

it.each(["/dashboard", "/dashboard/", "/dashboard/partners/p1/deliveries/d1", "/dashboard/index.html"])(
  "%s answers the document, which browsers ask for again each time",
  async (url) => {
    const { statusCode, headers, body } = await open().inject(url);
    expect(statusCode).toBe(200);
    expect(body).toContain("<title>first</title>");
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY",
    });
  },
);

it("the document runs nothing but files of this service, and stands in nobody's frame", async () => {
  const { headers } = await open().inject("/dashboard");
  const policy = String(headers["content-security-policy"]);
  expect(policy).not.toMatch(/unsafe|https?:|data:|\*/);
  expect(policy.split("; ")).toEqual(
    expect.arrayContaining(["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]),
  );
});

it("pictures come from this service alone, and from the configured server of map tiles", async () => {
  const policyOf = async (app: ReturnType<typeof open>) =>
    String((await app.inject("/dashboard")).headers["content-security-policy"]).split("; ");
  expect(await policyOf(open())).toContain("img-src 'self'");
  const tiles = { url: "https://tiles.example.com/{z}/{x}/{y}.png", attribution: "© Example" };
  expect(await policyOf(open("built", [], tiles))).toContain("img-src 'self' https://tiles.example.com");
});

it("origins that are configured may show the pages in a frame", async () => {
  const { headers } = await open("built", ["https://portal.example"]).inject("/dashboard");
  expect(headers["content-security-policy"]).toContain("frame-ancestors https://portal.example");
  expect(headers["x-frame-options"]).toBeUndefined();
});

it("files whose names are made of their content are kept for good, compressed", async () => {
  const { statusCode, headers, rawPayload } = await open().inject({
    url: "/dashboard/assets/index-abc.js",
    headers: { "accept-encoding": "gzip, br" },
  });
  expect(statusCode).toBe(200);
  expect(headers).toMatchObject({
    "content-encoding": "br",
    "cache-control": "public, max-age=31536000, immutable",
    "content-type": "text/javascript; charset=utf-8",
  });
  expect(rawPayload.length).toBeLessThan(SCRIPT.length / 2);
});

it("a document that the browser has already is answered with 304", async () => {
  const app = open();
  const { headers } = await app.inject("/dashboard");
  const again = await app.inject({ url: "/dashboard", headers: { "if-none-match": headers.etag } });
  expect(again.statusCode).toBe(304);
});

it.each(["/dashboard/assets/none.js", "/dashboard/assets/..%2findex.html", "/dashboard/assets/../../secret"])(
  "%s is not found among the files of the pages",
  async (url) => {
    expect((await open().inject(url)).statusCode).toBe(404);
  },
);

it("pages that are built anew are served without a restart", async () => {
  const app = open();
  await app.inject("/dashboard");
  await writeFile(join(root, "built/index.html"), "<!doctype html><title>second</title>");
  await utimes(join(root, "built/index.html"), new Date(), new Date("2031-01-01"));
  expect((await app.inject("/dashboard")).body).toContain("<title>second</title>");
});

it("where the pages are not built, says how to build them", async () => {
  const { statusCode, headers, body } = await open("nothing").inject("/dashboard/sign-in");
  expect(statusCode).toBe(503);
  expect(headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(body).toContain("npx -y pnpm@12 --filter @bikeshare/dashboard run build");
});

it("the operator's logo is a picture that runs nothing, whoever opens it", async () => {
  const app = Fastify();
  const logo = { bytes: Buffer.from("<svg><script>alert(1)</script></svg>"), type: "image/svg+xml" } as const;
  serveDashboard(app, { directory: join(root, "built"), ready: () => Promise.resolve(), logo });
  const { statusCode, headers, body } = await app.inject(logoUrl(logo));
  expect(statusCode).toBe(200);
  expect(body).toBe(logo.bytes.toString());
  expect(headers).toMatchObject({
    "content-type": "image/svg+xml",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "x-content-type-options": "nosniff",
  });
  expect(logoUrl({ ...logo, bytes: Buffer.from("<svg/>") })).not.toBe(logoUrl(logo));
});
