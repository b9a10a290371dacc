import type { JsonSchema, OpenApiDocument } from "@bikeshare/contract/openapi";
import { addressOf, type Guide, guideGroups, guides, readGuide, startGuide } from "./guides.ts";

/* Makes the documentation as Markdown, above all for language models. */

/** Returns the path of a guide's Markdown. */
export function markdownPath({ slug }: Guide): string {
  return `/docs/${slug || "index"}.md`;
}

/** The paths of the references' Markdown, by the paths of their pages. */
export const referenceMarkdownPaths = {
  partners: "/docs/reference.md",
  operator: "/docs/operator.md",
  cities: "/docs/mds.md",
} as const;

/** Returns a guide with links that lead to the Markdown of other pages. @param baseUrl of the service */
export async function guideMarkdown(guide: Guide, baseUrl: string): Promise<string> {
  const text = (await readGuide(guide)).replaceAll(/<!--[^]*?-->\n*/g, "");
  // Matches code between backticks as well, so that brackets in code are not taken for links.
  return text.replaceAll(
    /```[^]*?```|`[^`\n]*`|\[([^\]]*)\]\(([^)\s]+)\)/g,
    (whole, label?: string, target?: string) => {
      if (label === undefined || target === undefined) return whole;
      const address = addressOf(guide, target);
      return address === undefined ? label : `[${label}](${markdownAddress(address, baseUrl)})`;
    },
  );
}

function markdownAddress(address: string, baseUrl: string): string {
  if (!address.startsWith("/")) return address;
  const [path = "", ...anchor] = address.split("#");
  const guide = [startGuide, ...guides].find(({ slug }) => path === (slug === "" ? "/docs" : `/docs/${slug}`));
  const shown = path === "/docs/reference" ? referenceMarkdownPaths.partners : guide && markdownPath(guide);
  return `${baseUrl}${[shown ?? path, ...anchor].join("#")}`;
}

/** Returns the list of all pages, by the convention of llms.txt. */
export function llmsText({ info }: OpenApiDocument, baseUrl: string): string {
  const link = (path: string, title: string, summary: string) => `- [${title}](${baseUrl}${path}): ${summary}`;
  const guideLink = (guide: Guide) => link(markdownPath(guide), guide.title, guide.summary);
  return [
    `# ${info.title}`,
    `> ${info.summary}`,
    `Requests carry \`Authorization: Bearer <API_KEY>\`. Agents may call the endpoints as tools, by the Model Context Protocol at ${baseUrl}/mcp.`,
    `## Start\n\n${guideLink(startGuide)}`,
    ...guideGroups.map((group) => `## ${group.title}\n\n${group.guides.map(guideLink).join("\n")}`),
    [
      "## Reference\n",
      link(referenceMarkdownPaths.partners, "Reference", "Every endpoint, its parameters, answers and models."),
      link("/openapi.json", "OpenAPI", "The same for programs."),
    ].join("\n"),
    `## Optional\n\n${link("/llms-full.txt", "Everything", "All guides and the reference in one file.")}`,
    "",
  ].join("\n\n");
}

/** Returns all guides and the reference. */
export async function llmsFullText(documents: readonly OpenApiDocument[], baseUrl: string): Promise<string> {
  const texts = await Promise.all([startGuide, ...guides].map((guide) => guideMarkdown(guide, baseUrl)));
  return [...texts, referenceMarkdown(documents)].map((text) => text.trim()).join("\n\n---\n\n");
}

/** Returns the reference of documents, one after the other. */
export function referenceMarkdown(documents: readonly OpenApiDocument[]): string {
  return documents.map((document) => `${documentMarkdown(document)}\n`).join("\n---\n\n");
}

type Operation = NonNullable<OpenApiDocument["paths"][string]["get"]>;

function documentMarkdown(document: OpenApiDocument): string {
  const { info, tags, paths, webhooks, components } = document;
  const operations = [...operationsOf(paths), ...operationsOf(webhooks)];
  const groups = tags.flatMap(({ name, description, "x-displayName": shown }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    // A tag without operations gets no heading.
    return own.length === 0 ? [] : [`## ${shown}`, description, ...own.flatMap(operationMarkdown)];
  });
  const models = Object.entries(components.schemas).flatMap(modelMarkdown);
  return [`# ${info.title}`, info.description, ...groups, "## Models", ...models].join("\n\n");
}

function operationsOf(paths: OpenApiDocument["paths"]) {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
}

function operationMarkdown({ path, method, operation }: ReturnType<typeof operationsOf>[number]): string[] {
  const { summary = "", description = "", parameters = [], requestBody, responses } = operation;
  // Leaves out references (`$ref`), which have no name of their own.
  const given = parameters.flatMap((each) => ("in" in each ? [each] : []));
  const rows = given.map(({ name, in: place, required, schema, description: text }) => [
    `\`${name}\``,
    required === true ? `${place}, required` : place,
    typeOf(schema),
    text ?? descriptionOf(schema),
  ]);
  const answers = Object.entries(responses).map(([status, { description: text, content }]) => [
    status,
    schemaOf(content) === undefined ? "" : typeOf(schemaOf(content) ?? {}),
    codesIn(text),
  ]);
  const body = schemaOf(requestBody?.content);
  return [
    `### ${method} ${path}`,
    [summary && `${summary}.`, description].filter(Boolean).join(" "),
    ...(rows.length === 0 ? [] : [table(["Parameter", "In", "Type", "Meaning"], rows)]),
    ...(body === undefined ? [] : [`Body: ${typeOf(body)}`]),
    table(["Status", "Body", "Meaning"], answers),
  ];
}

/** Returns only the error codes of a description, because the guide on errors explains them; other texts unchanged. */
function codesIn(text: string): string {
  const codes = [...text.matchAll(/^- (`\w+`):/gm)].map(([, code = ""]) => code);
  return codes.length === 0 ? text : codes.join(", ");
}

function schemaOf(content: Operation["responses"][string]["content"]): JsonSchema | undefined {
  return Object.values(content ?? {})[0]?.schema;
}

function modelMarkdown([name, schema]: readonly [string, JsonSchema]): string[] {
  const { description = "", properties } = schema;
  const required = (schema["required"] ?? []) as readonly string[];
  const fields = Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(([field, each]) => [
    `\`${field}\``,
    typeOf(each),
    `${required.includes(field) ? "" : "Optional. "}${descriptionOf(each)}`,
  ]);
  const content = fields.length === 0 ? typeOf(schema) : table(["Field", "Type", "Meaning"], fields);
  return [`### ${name}`, ...(description === "" ? [] : [String(description)]), content];
}

/** Returns a schema's type in words. */
function typeOf(schema: JsonSchema): string {
  const { $ref, type, items, enum: values } = schema;
  if (typeof $ref === "string") return `[${nameOf($ref)}](#${nameOf($ref).toLowerCase()})`;
  const union = (schema["oneOf"] ?? schema["anyOf"] ?? schema["allOf"]) as JsonSchema[] | undefined;
  if (union !== undefined && type === undefined) return [...new Set(union.map(typeOf))].join(" or ");
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (type === "array") return `array of ${typeOf((items ?? {}) as JsonSchema)}`;
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number };
  const bounds = [
    ...(minimum === undefined ? [] : [`≥ ${minimum}`]),
    ...(maximum === undefined ? [] : [`≤ ${maximum}`]),
  ];
  const types = [(type ?? "any") as string | string[]].flat();
  return [types.join(" or "), ...bounds].join(" ");
}

function descriptionOf({ description }: JsonSchema): string {
  return typeof description === "string" ? description : "";
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
