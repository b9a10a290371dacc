import type { ViteUserConfig } from "vitest/config";
import { sharedTestConfig } from "../../vitest.shared.ts";

const shared = sharedTestConfig("dashboard-browser");

/** The tests in a real browser, apart from the others: their setup starts a service and a browser. */
const config: ViteUserConfig = {
  ...shared,
  test: {
    ...shared.test,
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["./test/browser/global-setup.ts"],
    // One browser draws for all of them: two at a time, and each waits for the other.
    maxWorkers: 1,
    // A group: vitest runs no two numbers of workers at once.
    sequence: { groupOrder: 2 },
  },
};

export default config;
