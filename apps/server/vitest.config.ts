import { mergeConfig } from "vitest/config";
import { sharedTestConfig } from "../../vitest.shared.ts";

export default mergeConfig(sharedTestConfig("server"), {
  test: {
    globalSetup: ["./test/global-setup.ts"],
    setupFiles: [
      "./test/random-seed.ts",
      "./test/check-statements.ts",
      ...(process.env["TEST_CITUS_URL"] === undefined ? [] : ["./test/distributed-tests.ts"]),
    ],
  },
});
