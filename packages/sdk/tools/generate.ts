import { writeFileSync } from "node:fs";
import { wireTypeFiles } from "../../contract/tools/wire-types-files.ts";
import { answersFile, answersText } from "./answers.ts";
import { routesFile, routesText } from "./routes.ts";

for (const { url, text } of wireTypeFiles()) writeFileSync(url, text);
writeFileSync(routesFile, routesText());
writeFileSync(answersFile, answersText());
