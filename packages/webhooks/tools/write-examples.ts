import { writeFileSync } from "node:fs";
import { examplesFile, examplesText } from "./examples.ts";

writeFileSync(examplesFile, examplesText());
