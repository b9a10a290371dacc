import { writeFileSync } from "node:fs";
import { wireTypeFiles } from "../../contract/tools/wire-types-files.ts";
import { fakeContractFile, fakeContractText } from "../test/fake-contract.ts";
import { endpointsFile, endpointsText } from "./endpoints.ts";
import { responseShapesFile, responseShapesText } from "./response-shapes.ts";
import { routesFile, routesText } from "./routes.ts";

for (const { url, text } of wireTypeFiles()) writeFileSync(url, text);
writeFileSync(routesFile, routesText());
writeFileSync(responseShapesFile, responseShapesText());
writeFileSync(endpointsFile, endpointsText());
writeFileSync(fakeContractFile, fakeContractText());
