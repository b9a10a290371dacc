import { mergeConfig } from "vitest/config";
import { sharedTestConfig } from "../../vitest.shared.ts";
import { LongestFirst } from "./test/longest-first.ts";

export default mergeConfig(sharedTestConfig("server"), {
  test: {
    // More than in other packages: most test files here wait for processes, leases and PostgreSQL. With three workers a sixth
    // of the processors would be idle in the last minutes, when the other packages have ended.
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
