import { mergeConfig } from "vitest/config";
import { sharedTestConfig } from "../../vitest.shared.ts";
import { LongestFirst } from "./test/longest-first.ts";

export default mergeConfig(sharedTestConfig("server"), {
  test: {
    // Most of its files wait for processes, leases and PostgreSQL: with the two of the others a core is idle at the end.
    maxWorkers: 3,
    // Together with tests of other packages they are a group: vitest runs no two numbers of workers at once.
    sequence: { sequencer: LongestFirst, groupOrder: 1 },
    globalSetup: ["./test/global-setup.ts"],
    setupFiles: [
      "./test/random-seed.ts",
      "./test/check-statements.ts",
      ...(process.env["TEST_CITUS_URL"] === undefined ? [] : ["./test/distributed-tests.ts"]),
    ],
  },
});
