/** Writes src/api/routes.generated.ts, the table of the console's endpoints, after a change of the contract. */
import { writeFileSync } from "node:fs";
import { routesFile, routesText } from "./routes.ts";

writeFileSync(routesFile, routesText());
