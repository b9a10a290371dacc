import { quoted } from "../quoted.ts";
import { type Endpoint, successOf } from "./openapi.ts";

/** An endpoint as a command. The key comes from the environment, so that it stands in no history of commands. */
export function curlExample(endpoint: Endpoint, baseUrl: string): string {
  const { method, path, request, responses } = endpoint;
  const [example] = Object.values(request?.examples ?? {});
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted(baseUrl + withExampleId(endpoint, path))}`];
  if (responses.some(({ status }) => status === "401")) lines.push('-H "Authorization: Bearer $API_KEY"');
  if (request !== undefined) lines.push(`-H ${quoted("Content-Type: application/json")}`);
  for (const { name, in: location, schema } of endpoint.parameters) {
    // Only what makes the request safe to repeat: the other headers are for later requests.
    if (location === "header" && name === "Idempotency-Key" && schema["type"] === "string") {
      lines.push('-H "Idempotency-Key: $(uuidgen)"');
    }
  }
  if (example !== undefined) lines.push(`--data-raw ${quoted(JSON.stringify(example.value, null, 2))}`);
  return lines.join(" \\\n  ");
}

/** The id of the document's own example, where the path asks for one. */
function withExampleId(endpoint: Endpoint, path: string): string {
  const [example] = Object.values(successOf(endpoint)?.content?.examples ?? {});
  const value: unknown = example?.value;
  const id: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "id") : undefined;
  return typeof id === "string" ? path.replace("{id}", encodeURIComponent(id)) : path;
}
