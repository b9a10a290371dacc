import { createOpenApiDocument } from "@bikeshare/contract/openapi";

/** The file of example deliveries. */
export const examplesFile = new URL("../src/examples.generated.ts", import.meta.url);

/** Returns the text of the file: an example of each delivery, as the contract documents it. */
export function examplesText(): string {
  const { webhooks } = createOpenApiDocument({ baseUrl: "https://bikes.example", version: "1.0.0" });
  const examples = Object.entries(webhooks).map(([event, { post }]) => {
    const example = post?.requestBody?.content["application/json"]?.examples?.["delivery"]?.value;
    if (example === undefined) throw new Error(`the contract has no example of ${event}`);
    return [event, example] as const;
  });
  return `// An example of each delivery.
// Made from packages/contract by \`pnpm --filter @bikeshare/webhooks run generate\`. Do not edit here.
import type { DeliveryOf } from "./verify.ts";
import type { KnownDelivery } from "./json-types.generated.ts";

export const exampleDeliveries: { readonly [Name in KnownDelivery["event"]]: DeliveryOf<Name> } = ${JSON.stringify(Object.fromEntries(examples), null, 2)};
`;
}
