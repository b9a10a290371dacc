import { defineConfig } from "vitest/config";

/** Lets tests of any package be run from the root, by file and by name: `pnpm test:one <file> -t <title>`. */
export default defineConfig({
  test: { projects: ["{apps,packages}/*/vitest{,.browser}.config.ts", "{tools,deploy}/vitest.config.ts"] },
});
