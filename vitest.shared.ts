import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import type { ViteUserConfig } from "vitest/config";

/** The condition under which our packages export their TypeScript source, so that tests need no build. */
const sourceConditions = ["@bikeshare/source", "module", "node", "development|production"];

/**
 * What every package's tests share. A package's vitest.config.ts merges its own into it.
 *
 * With TEST_RESULTS_DIR set, the results are also written there as `<name>.json`, which `.ci/run` counts.
 *
 * @param name the package's short name; it heads the report and names the results file
 */
export function sharedTestConfig(name: string): ViteUserConfig {
  const resultsDirectory = process.env["TEST_RESULTS_DIR"];
  return defineConfig({
    resolve: { conditions: sourceConditions },
    ssr: { resolve: { conditions: sourceConditions, externalConditions: ["@bikeshare/source"] } },
    // Global setups run in an environment of vitest's own.
    environments: { __vitest__: { resolve: { conditions: sourceConditions } } },
    test: {
      name,
      include: ["src/**/*.test.{ts,tsx}", "test/**/*.test.{ts,tsx}"],
      globals: false,
      pool: "forks",
      // One process for many files. Their modules are read once instead of once a file, which was a quarter of the
      // server's tests' time; in return nothing may be left in a module that another file meets.
      isolate: false,
      // Lower leaves the second core idle; higher makes tests that await a process miss their bounds on two cores.
      maxWorkers: 2,
      // Programs that tests start find their compiled sources again: half the processor time of each start.
      env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/tests", import.meta.url)) },
      setupFiles: [fileURLToPath(new URL("tools/fail-on-console.ts", import.meta.url))],
      // Bounds that end a hang and measure nothing. Lower fails good tests on a machine that is busy for a while;
      // higher makes one that hangs cost more minutes.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      // What stops PostgreSQL at the end; a slow disk takes its time. Lower leaves its processes behind.
      teardownTimeout: 60_000,
      expect: { poll: { timeout: 60_000, interval: 10 } },
      dangerouslyIgnoreUnhandledErrors: false,
      allowOnly: false,
      restoreMocks: true,
      unstubEnvs: true,
      reporters: resultsDirectory
        ? ["default", ["json", { outputFile: join(resultsDirectory, `${name}.json`) }]]
        : ["default"],
    },
  });
}
