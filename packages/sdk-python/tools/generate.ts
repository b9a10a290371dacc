import { writeFileSync } from "node:fs";
import { generatedFiles } from "./generated-files.ts";

for (const { url, text } of generatedFiles()) writeFileSync(url, text);
