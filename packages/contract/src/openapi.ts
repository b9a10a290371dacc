import { generateOpenApi } from "@ts-rest/open-api";
import { partnerContract } from "./partner.ts";
export const x = generateOpenApi(partnerContract, { info: { title: "x", version: "1" } });
console.log(JSON.stringify(x, null, 1));
