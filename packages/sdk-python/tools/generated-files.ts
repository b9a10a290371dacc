import { createOpenApiDocument, createSandboxOpenApiDocument, type OpenApiDocument } from "@bikeshare/contract/openapi";
import { resourcesTexts } from "./resources.ts";
import { typesText } from "./types.ts";

/** Returns the files that are made from the OpenAPI documents of the API and of the sandbox: their addresses and texts. */
export function generatedFiles(): readonly { readonly url: URL; readonly text: string }[] {
  const options = { baseUrl: "https://bikes.example", version: "0.1.0" };
  const document = merge(createOpenApiDocument(options), createSandboxOpenApiDocument(options));
  const types = typesText(document);
  const { routes, resources } = resourcesTexts(document, types);
  const at = (path: string) => new URL(`../src/bikeshare/${path}`, import.meta.url);
  return [
    { url: at("types.py"), text: types },
    { url: at("_generated/routes.py"), text: routes },
    { url: at("_generated/resources.py"), text: resources },
  ];
}

function merge(one: OpenApiDocument, other: OpenApiDocument): OpenApiDocument {
  return {
    ...one,
    tags: [...one.tags, ...other.tags],
    paths: { ...one.paths, ...other.paths },
    components: { ...one.components, schemas: { ...other.components.schemas, ...one.components.schemas } },
  };
}
