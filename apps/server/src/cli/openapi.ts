import { readVersion } from "../version.ts";
import { type OpenCli, type ParentCommand, run } from "./context.ts";

/** `openapi`: the document without a running service. */
export function registerOpenApi(program: ParentCommand, cli: OpenCli): void {
  program
    .command("openapi")
    .description("print the OpenAPI document that the service serves at /openapi.json")
    .action(() =>
      run(cli(), async ({ config }) => {
        // Loaded here: the other commands would wait for it.
        const { createOpenApiDocument } = await import("@bikeshare/contract/openapi");
        const baseUrl = config.publicUrl ?? `http://${config.host}:${config.port}`;
        const document = createOpenApiDocument({ baseUrl, version: readVersion() });
        return { object: document, text: JSON.stringify(document, null, 2) };
      }),
    );
}
