import { createOpenApiDocument } from "@bikeshare/contract/openapi";
import { resourcesTexts } from "./resources.ts";
import { typesText } from "./types.ts";

/** The files that are made from the OpenAPI document: where each stands, and what must be in it. */
export function generatedFiles(): readonly { readonly url: URL; readonly text: string }[] {
  const document = createOpenApiDocument({ baseUrl: "https://bikes.example", version: "0.1.0" });
  const types = typesText(document);
  const { routes, resources } = resourcesTexts(document, types);
  const at = (path: string) => new URL(`../src/bikeshare/${path}`, import.meta.url);
  return [
    { url: at("types.py"), text: types },
    { url: at("_generated/routes.py"), text: routes },
    { url: at("_generated/resources.py"), text: resources },
  ];
}
