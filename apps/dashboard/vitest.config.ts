import { mergeConfig } from "vitest/config";
import { sharedTestConfig } from "../../vitest.shared.ts";

export default mergeConfig(sharedTestConfig("dashboard"), {
  test: { exclude: ["test/browser/**", "node_modules/**"] },
});
