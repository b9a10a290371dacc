// Runs the program from its sources. Plain JavaScript: before compiled modules are kept, Node would load its compiler of
// TypeScript for the first one, which takes 50 ms and 20 MB.
import { enableCompileCache } from "node:module";
import { join } from "node:path";

enableCompileCache(join(import.meta.dirname, "node_modules/.cache/compiled"));
await import("./src/main.ts");
