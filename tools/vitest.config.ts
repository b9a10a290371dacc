import { mergeConfig } from "vitest/config";
import { sharedTestConfig } from "../vitest.shared.ts";

export default mergeConfig(sharedTestConfig("tools"), { test: { include: ["*.test.ts"] } });
