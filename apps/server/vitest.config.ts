import { mergeConfig } from "vitest/config";
import { sharedTestConfig } from "../../vitest.shared.ts";
import { LongestFirst } from "./test/longest-first.ts";

export default mergeConfig(sharedTestConfig("server"), {
  test: {
    // Most of its files wait for processes, leases and PostgreSQL: with the two of the others a core is idle at the end.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    globalSetup: ["./test/global-setup.ts"],
    setupFiles: [
      "./test/random-seed.ts",
      "./test/check-statements.ts",
      ...(process.env["TEST_CITUS_URL"] === undefined ? [] : ["./test/distributed-tests.ts"]),
    ],
  },
});
