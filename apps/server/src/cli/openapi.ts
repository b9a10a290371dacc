import { createOpenApiDocument } from "@bikeshare/contract/openapi";
import type { Command } from "commander";
import { readVersion } from "../version.ts";
import type { CliContext } from "./context.ts";

/** `openapi`: the document that a running service serves at /openapi.json. */
export function registerOpenApi(program: Command, context: () => CliContext): void {
  program
    .command("openapi")
    .description("print the OpenAPI document")
    .action(() => {
      const { config, output } = context();
      const baseUrl = config.publicUrl ?? `http://${config.host}:${config.port}`;
      const document = createOpenApiDocument({ baseUrl, version: readVersion() });
      output.result({ ...document }, JSON.stringify(document, null, 2));
    });
}
