import { mergeConfig } from "vitest/config";
import { sharedTestConfig } from "../../vitest.shared.ts";
import { LongestFirst } from "./test/longest-first.ts";

export default mergeConfig(sharedTestConfig("server"), {
  test: {
    // One more than in other packages: most test files here wait for processes, leases and PostgreSQL, so that with two
    // workers a core would be idle.
    maxWorkers: 3,
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
