import { mergeConfig } from "vitest/config";
import { sharedTestConfig } from "../vitest.shared.ts";

// The tests of the tools are next to them, not in a folder `src`.
export default mergeConfig(sharedTestConfig("tools"), { test: { include: ["*.test.ts"] } });
