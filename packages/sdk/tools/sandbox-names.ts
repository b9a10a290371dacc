import { deliveryNames } from "@bikeshare/contract";
import { sandboxScenarios } from "@bikeshare/contract/sandbox";

/** The generated file with the names that the command `trigger` takes. */
export const sandboxNamesFile = new URL("../src/cli/sandbox-names.generated.ts", import.meta.url);

/** Returns the text of src/cli/sandbox-names.generated.ts, made from the contract. */
export function sandboxNamesText(): string {
  const scenarios = Object.entries(sandboxScenarios).map(
    ([name, summary]) => `  ${JSON.stringify(name)}: ${JSON.stringify(summary)},`,
  );
  return `// What the command line can trigger in a sandbox.
// Made from packages/contract by \`pnpm --filter @bikeshare/sdk run generate\`. Do not edit here.

export const sandboxEvents = ${JSON.stringify(deliveryNames)} as const;

/** By name: what each tests a client for. */
export const sandboxScenarios = {
${scenarios.join("\n")}
} as const;
`;
}
