import { defineConfig } from "vitest/config";

/** Lets you run tests of any package from the root, by file and title: `pnpm test:one <file> -t <title>`. */
export default defineConfig({
  test: { projects: ["{apps,packages}/*/vitest{,.browser}.config.ts", "{tools,deploy}/vitest.config.ts"] },
});
