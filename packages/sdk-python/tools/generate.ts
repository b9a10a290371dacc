import { writeFileSync } from "node:fs";
import { generatedFiles } from "./generated-files.ts";

/* Writes the generated files of the Python package. A test compares them with what the contract gives. */

for (const { url, text } of generatedFiles()) writeFileSync(url, text);
