import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import type { ViteUserConfig } from "vitest/config";

/** The condition under which our packages export their TypeScript source, so that tests need no build. */
const sourceConditions = ["@bikeshare/source", "module", "node", "development|production"];

/**
 * Returns the settings that the tests of all packages share. The vitest.config.ts of a package may merge its own settings
 * into them.
 *
 * With TEST_RESULTS_DIR set, the results are also written there as `<name>.json`, which `.ci/run` counts.
 *
 * @param name the short name of the package, for the report and the results file
 */
export function sharedTestConfig(name: string): ViteUserConfig {
  const resultsDirectory = process.env["TEST_RESULTS_DIR"];
  return defineConfig({
    resolve: { conditions: sourceConditions },
    ssr: { resolve: { conditions: sourceConditions, externalConditions: ["@bikeshare/source"] } },
    // Global setups run in a separate environment of vitest, which needs the conditions too.
    environments: { __vitest__: { resolve: { conditions: sourceConditions } } },
    test: {
      name,
      include: ["src/**/*.test.{ts,tsx}", "test/**/*.test.{ts,tsx}"],
      globals: false,
      pool: "forks",
      // Many test files share one process. Their modules are loaded once instead of once for each file, which took a quarter
      // of the time of the server's tests. In return, a test must not leave state in a module that affects another file.
      isolate: false,
      // Too low: the second core is idle. Too high: on two cores, tests that wait for a process exceed their time limits.
      maxWorkers: 2,
      // The nurseries of the garbage collector. Too small: it copies the short-lived objects of tests, which takes a tenth of
      // their processor time. Too large: each worker takes more memory.
      execArgv: ["--min-semi-space-size=32", "--max-semi-space-size=64"],
      // A compile cache for the programs that tests start. It halves the processor time of each start.
      env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/tests", import.meta.url)) },
      setupFiles: [fileURLToPath(new URL("tools/fail-on-console.ts", import.meta.url))],
      // Time limits that only end tests that hang. Too low: good tests fail on a busy machine. Too high: a hanging test
      // costs more minutes.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      // The time to stop PostgreSQL at the end, which is long on a slow disk. Too low: processes of PostgreSQL are left
      // running.
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
