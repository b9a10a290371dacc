import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";

/** Maximum bytes that the package's main entry may add to a partner's page. */
const BUDGET = 6300;

const root = new URL("..", import.meta.url);

test(`the main entry is at most ${BUDGET} bytes, minified and compressed, and imports nothing`, async () => {
  const { outputFiles } = await build({
    entryPoints: [new URL("src/index.ts", root).pathname],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    // For a browser, so that an import of a Node module fails.
    platform: "browser",
    target: "es2022",
  });
  const [file] = outputFiles;
  expect(gzipSync(file!.contents, { level: 9 }).length).toBeLessThanOrEqual(BUDGET);
  expect(file!.text).not.toMatch(/\bimport\b|require\(/);
});

test("the package has no dependencies", () => {
  const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as Record<string, unknown>;
  expect(manifest["dependencies"]).toBeUndefined();
});
