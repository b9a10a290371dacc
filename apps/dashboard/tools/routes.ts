import { consoleContract } from "@bikeshare/contract/console";

/** The endpoints of the console, by noun and verb: `keys`, `list`. */
type Contract = Readonly<Record<string, Readonly<Record<string, { readonly method: string; readonly path: string }>>>>;

/** The file of the route table. */
export const routesFile = new URL("../src/api/routes.generated.ts", import.meta.url);

/**
 * Returns the text of src/api/routes.generated.ts: the methods and paths of the contract, without its schemas, which the
 * browser would load for nothing.
 */
export function routesText(): string {
  const nouns = Object.entries(consoleContract as Contract).map(([noun, verbs]) => {
    const entries = Object.entries(verbs).map(([verb, { method, path }]) => `    ${verb}: "${method} ${path}",`);
    return `  ${noun}: {\n${entries.join("\n")}\n  },`;
  });
  return `// Every endpoint of the console.
// Made from packages/contract by \`pnpm --filter @bikeshare/dashboard run generate\`. Do not edit here.

/** By noun and verb: method and path. */
export const routes = {
${nouns.join("\n")}
} as const;
`;
}
