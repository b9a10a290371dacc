import { writeFileSync } from "node:fs";
import { routesFile, routesText } from "./routes.ts";

writeFileSync(routesFile, routesText());
