export { createTestClock, type TestClock } from "./clock.ts";
export { createTestIds } from "./ids.ts";
export { nodeBinaries, type NodeBinary } from "./node-binaries.ts";
export { installPacked, type Packed } from "./packed.ts";
