import { mergeConfig } from "vitest/config";
import { sharedTestConfig } from "../../vitest.shared.ts";

export default mergeConfig(sharedTestConfig("dashboard"), {
  // The tests in a browser have vitest.browser.config.ts. `exclude` replaces vitest's default, hence node_modules.
  test: { exclude: ["test/browser/**", "node_modules/**"] },
});
