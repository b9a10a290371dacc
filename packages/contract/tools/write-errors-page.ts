import { writeFileSync } from "node:fs";
import { errorsPage, errorsPageFile } from "./errors-page.ts";

writeFileSync(errorsPageFile, errorsPage());
