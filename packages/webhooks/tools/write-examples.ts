import { writeFileSync } from "node:fs";
import { examplesFile, examplesText } from "./examples.ts";

/* Writes the generated file of example deliveries. */

writeFileSync(examplesFile, examplesText());
