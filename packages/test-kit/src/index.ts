export { installApart } from "./apart.ts";
export { makeDatabaseDirectory } from "./directories.ts";
export { createTestClock, createTestIds, type TestClock } from "./fakes.ts";
export { nodeBinaries, type NodeBinary } from "./node-binaries.ts";
export { installPacked, type Packed } from "./packed.ts";
export { findFreePort } from "./ports.ts";
export { randomRuns } from "./random-runs.ts";
export { serviceProgram } from "./service-program.ts";
