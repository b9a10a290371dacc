export { createTestClock, type TestClock } from "./clock.ts";
export { createTestIds } from "./ids.ts";
