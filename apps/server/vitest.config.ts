import { mergeConfig } from "vitest/config";
import { sharedTestConfig } from "../../vitest.shared.ts";
import { LongestFirst } from "./test/longest-first.ts";

export default mergeConfig(sharedTestConfig("server"), {
  test: {
    // Twice as many as in other packages, because most test files here wait for processes, leases and PostgreSQL. With three,
    // half a core is idle after the other packages' tests have ended.
    maxWorkers: 4,
    // A separate group, because vitest cannot run packages with different numbers of workers in one group.
    sequence: { sequencer: LongestFirst, groupOrder: 1 },
    globalSetup: ["./test/global-setup.ts"],
    setupFiles: [
      "./test/random-seed.ts",
      "./test/check-statements.ts",
      ...(process.env["TEST_CITUS_URL"] === undefined ? [] : ["./test/distributed-tests.ts"]),
    ],
  },
});
