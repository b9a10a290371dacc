import { deliveryNames } from "@bikeshare/contract";
import { sandboxScenarios } from "@bikeshare/contract/sandbox";

/** The file of what the command line can trigger. */
export const sandboxNamesFile = new URL("../src/cli/sandbox-names.generated.ts", import.meta.url);

/** The text of src/cli/sandbox-names.generated.ts, made from the contract. */
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
