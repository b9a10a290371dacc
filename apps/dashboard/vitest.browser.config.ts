import type { ViteUserConfig } from "vitest/config";
import { sharedTestConfig } from "../../vitest.shared.ts";

const shared = sharedTestConfig("dashboard-browser");

/**
 * The configuration of the tests in a real browser. They are separate, because their setup starts a service and a browser.
 */
const config: ViteUserConfig = {
  ...shared,
  test: {
    ...shared.test,
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["./test/browser/global-setup.ts"],
    // One worker, because all tests share one browser, and two would only wait for each other.
    maxWorkers: 1,
    // A longer interval than in other tests: each look at a page costs messages between four processes.
    expect: { poll: { ...shared.test?.expect?.poll, interval: 50 } },
    // A separate group, because vitest runs projects with different numbers of workers one after another.
    sequence: { groupOrder: 2 },
  },
};

export default config;
