import { writeFileSync } from "node:fs";
import { jsonTypeFiles } from "../../contract/tools/json-types-files.ts";
import { endpointsFile, endpointsText } from "./endpoints.ts";
import { fakeContractFile, fakeContractText } from "./fake-contract.ts";
import { responseShapesFile, responseShapesText } from "./response-shapes.ts";
import { routesFile, routesText, sandboxRoutesFile, sandboxRoutesText } from "./routes.ts";
import { sandboxNamesFile, sandboxNamesText } from "./sandbox-names.ts";

/* Writes all generated files of this package. Run it after a change of the contract. */

for (const { url, text } of jsonTypeFiles()) writeFileSync(url, text);
writeFileSync(routesFile, routesText());
writeFileSync(sandboxRoutesFile, sandboxRoutesText());
writeFileSync(sandboxNamesFile, sandboxNamesText());
writeFileSync(responseShapesFile, responseShapesText());
writeFileSync(endpointsFile, endpointsText());
writeFileSync(fakeContractFile, fakeContractText());
