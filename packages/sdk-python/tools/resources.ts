import { DEFAULT_RATE_LIMIT, type EndpointMetadata, MAX_PAGE_SIZE, RATE_WINDOW_SECONDS } from "@bikeshare/contract";
import type { OpenApiDocument } from "@bikeshare/contract/openapi";
import { sandboxContract } from "@bikeshare/contract/sandbox";
import { argumentName, bracketed, docstring, pascalCase, snakeCase } from "./python-text.ts";
import { isPage, nameOf, type Schema, typeOf } from "./types.ts";

/*
 * Writes the Python client's resources, which are classes with a method for each endpoint, and its routes. Both come
 * from the OpenAPI document.
 */

/** The comment at the top of each generated file. */
const MADE =
  "# Made from the OpenAPI document by `pnpm --filter @bikeshare/sdk-python run generate`. Do not edit here.";

/** The fields of an OpenAPI operation that are used here. */
interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
  readonly security?: readonly unknown[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
}

interface Content {
  readonly "application/json"?: { readonly schema: Schema };
}

/** An endpoint, with what its method needs. */
interface Endpoint {
  /** The resource, such as `stations`. */
  readonly noun: string;
  /** The method's name in the contract, such as `list`. */
  readonly verb: string;
  /** The name of the route's constant in routes.py, such as `STATIONS_LIST`. */
  readonly route: string;
  /** The method's docstring. */
  readonly doc: string;
  /** The argument in the path: an id or a name. */
  readonly pathArgument: Argument | undefined;
  readonly query: readonly Argument[];
  readonly body: readonly Argument[];
  /** Whether the body is an object without fields. */
  readonly hasEmptyBody: boolean;
  readonly isIdempotent: boolean;
  /** For a list with page numbers: the type of its items. */
  readonly item: string | undefined;
  /** The type of a successful response. */
  readonly result: string;
  /** For a list that is read by cursor only: the type of its items. */
  readonly unnumbered: string | undefined;
}

/** An argument of a method. */
interface Argument {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
}

/** Returns the texts of src/bikeshare/_generated/routes.py and resources.py. @param types the text of types.py */
export function resourcesTexts(
  document: OpenApiDocument,
  types: string,
): { readonly routes: string; readonly resources: string } {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation: operation as unknown as Operation })),
  );
  const schemas = document.components.schemas as Readonly<Record<string, Schema>>;
  const endpoints = operations.map(({ operation }) => endpointOf(operation, schemas));
  const nouns = Object.groupBy(endpoints, ({ noun }) => noun);
  const docs = new Map(document.tags.map(({ name, description }) => [name, description]));
  const classes = [false, true].flatMap((isAsync) => [
    ...Object.entries(nouns).map(([noun, each = []]) => classText(noun, docs.get(noun) ?? "", each, isAsync)),
    // `sandbox` is left out, because the client of a sandbox adds it, with a separate rate limit.
    clientText(
      Object.keys(nouns).filter((noun) => noun !== "sandbox"),
      docs,
      isAsync,
    ),
  ]);
  return {
    routes: routesText(operations),
    resources: `${headOf(classes.join("\n"), types)}\n${classes.join("\n")}`,
  };
}

/** Returns the text of routes.py. The class `Route` (_core/request.py) explains the flags. */
function routesText(operations: readonly { path: string; method: string; operation: Operation }[]): string {
  const routes = operations.map(({ path, method, operation }) => {
    const flags = [
      ...(isIdempotent(operation) ? ["is_idempotent=True"] : []),
      ...(operation.security?.length === 0 ? ["is_open=True"] : []),
      ...(repeating.has(operation.operationId) ? ["is_once=True"] : []),
    ];
    const values = [JSON.stringify(method.toUpperCase()), JSON.stringify(path), String(successOf(operation)), ...flags];
    return `${routeName(operation.operationId)} = Route(${values.join(", ")})`;
  });
  return `"""Every endpoint of the partner API, and its limits."""

${MADE}

from .._core.request import Route

${routes.join("\n")}

RATE_LIMIT = ${DEFAULT_RATE_LIMIT}
"""Requests that a key may make in any window by default."""
RATE_WINDOW_SECONDS = ${RATE_WINDOW_SECONDS}
"""Seconds of a window."""
MAX_PAGE_SIZE = ${MAX_PAGE_SIZE}
"""Most items on a page."""
`;
}

/** The ids of operations that have their effect again if the request is repeated. */
const repeating = new Set(
  Object.entries<{ readonly metadata: EndpointMetadata }>(sandboxContract).flatMap(([verb, { metadata }]) =>
    metadata.repeats ? [`sandbox.${verb}`] : [],
  ),
);

const routeName = (id: string): string => snakeCase(id).replace(".", "_").toUpperCase();
const isIdempotent = ({ parameters = [] }: Operation): boolean =>
  parameters.some(({ name }) => name === "Idempotency-Key");
/** Returns the status of a success: the lowest one, because all others are errors. */
const successOf = ({ responses }: Operation): number => Math.min(...Object.keys(responses).map(Number));

/** Reads from an operation what its method needs. */
function endpointOf(operation: Operation, schemas: Readonly<Record<string, Schema>>): Endpoint {
  const { operationId, summary = "", description = "", parameters = [], requestBody, responses } = operation;
  const [noun = "", verb = ""] = operationId.split(".");
  const answer = responses[successOf(operation)]?.content?.["application/json"]?.schema ?? {};
  const resolve = (schema: Schema) =>
    schema.$ref ? schemas[schema.$ref.slice("#/components/schemas/".length)] : schema;
  const itemReference = resolve(answer)?.properties?.["data"]?.items?.$ref;
  const body = requestBody?.content["application/json"]?.schema;
  const fields = body ? (resolve(body) ?? {}) : {};
  // The type of an argument needs a name, and nothing declares one for an object that is described in place.
  const refuseNameless = (): never => {
    throw new Error(`${operationId} takes an object without a name`);
  };
  const argument = (name: string, schema: Schema, isRequired: boolean): Argument => ({
    name,
    type: typeOf(schema, refuseNameless),
    isRequired,
  });
  const query = parameters.filter((parameter) => parameter.in === "query");
  const isNumberedList = isPage(resolve(answer));
  const itemType = itemReference === undefined ? undefined : nameOf(itemReference);
  return {
    noun,
    verb,
    route: routeName(operationId),
    doc: `${summary}.\n\n${description}`,
    pathArgument: parameters
      .filter((parameter) => parameter.in === "path")
      .map(({ name, schema }) => argument(name, schema, true))[0],
    query: query.map(({ name, schema }) => argument(name, schema, false)),
    body: Object.entries(fields.properties ?? {}).map(([name, schema]) =>
      argument(name, schema, fields.required?.includes(name) === true),
    ),
    hasEmptyBody: body !== undefined && Object.keys(fields.properties ?? {}).length === 0,
    isIdempotent: isIdempotent(operation),
    item: isNumberedList ? itemType : undefined,
    result: nameOf(answer.$ref ?? ""),
    unnumbered: !isNumberedList && query.some(({ name }) => name === "cursor") ? itemType : undefined,
  };
}

/** The parameters of a list that `changes_since` and `since` do not have: their checkpoint says where to begin. */
const POSITIONS: ReadonlySet<string> = new Set(["page", "cursor", "updated_since", "changes_since", "after"]);
/** The docstring of every method `changes_since`. */
const CHANGES =
  "Everything that has changed since a checkpoint, each item as it is now. Without a checkpoint: all items. No change is " +
  "missed, whatever changes meanwhile and even if clocks are wrong; a recent change may come twice. When the iteration has " +
  "ended, keep the `checkpoint()` of the list for the next one. A checkpoint kept earlier continues an iteration that was " +
  "interrupted. Do not filter by fields that change: an item that no longer passes the filter is not shown.\n\n" +
  ":raises CheckpointLostError: in the iteration, when changes may be missing: begin again without a checkpoint";
/** The docstring of the method `since` of the events. */
const SINCE =
  "The events since a checkpoint, each once, oldest first: to catch up after you were down. Keep the `checkpoint()` of the " +
  "iterator or the list.\n\n:param checkpoint: the id of the last event you have seen; `now` begins with the next event; " +
  "None begins with the oldest event that is kept\n" +
  ":raises CheckpointLostError: in the iteration, when that event is no longer kept: read the resources again, then continue " +
  "without a checkpoint";

function classText(noun: string, doc: string, endpoints: readonly Endpoint[], isAsync: boolean): string {
  const methods = endpoints.flatMap((endpoint) => methodsOf(endpoint, isAsync));
  return `
class ${isAsync ? "Async" : ""}${pascalCase(noun)}Resource:
${docstring(doc, "    ")}

    def __init__(self, api: ${isAsync ? "AsyncApi" : "SyncApi"}) -> None:
        self._api = api

${methods.join("\n")}`;
}

/**
 * Returns the methods of an endpoint: one for most, but several for some lists, such as `list` and `changes_since`.
 * @param isAsync whether they are for tasks, instead of threads
 */
function methodsOf(endpoint: Endpoint, isAsync: boolean): string[] {
  const { item, unnumbered, route, query } = endpoint;
  if (item === undefined) {
    const plain = callText(endpoint, isAsync);
    if (unnumbered === undefined) return [plain];
    const filters = query.filter(({ name }) => name !== "cursor");
    const all = { name: "all", doc: "All of them, page by page.", leading: [], filters, isAsync };
    const type = `${isAsync ? "Async" : ""}Iterator[${unnumbered}]`;
    return [plain, listText({ ...all, type, call: `all(${route}, ` })];
  }
  const type = `${isAsync ? "Async" : ""}List[${item}]`;
  const isById = query.some(({ name }) => name === "after");
  const list = { name: "list", doc: endpoint.doc, leading: [], filters: query, type, isAsync };
  const followed = query.filter(({ name }) => !POSITIONS.has(name));
  const leading = ["checkpoint: str | None"];
  const following = { leading, filters: followed, type, isAsync };
  return [
    listText({ ...list, call: `list(${route}, `, isById }),
    ...(query.some(({ name }) => name === "changes_since")
      ? [listText({ ...following, name: "changes_since", doc: CHANGES, call: `changes(${route}, checkpoint, ` })]
      : []),
    ...(isById
      ? [
          listText({
            ...following,
            name: "since",
            doc: SINCE,
            call: `list(${route}, `,
            isById,
            extra: '"after": checkpoint',
          }),
        ]
      : []),
  ];
}

/** A method that returns a list. */
interface ListMethod {
  readonly name: string;
  readonly doc: string;
  /** Parameters before the filters, which callers pass by position. */
  readonly leading: readonly string[];
  readonly filters: readonly Argument[];
  /** The type of the result. */
  readonly type: string;
  /** The call of the API's method up to its query, such as `list(STATIONS_LIST, `. */
  readonly call: string;
  readonly isAsync: boolean;
  /** Whether the list is resumed after an item's id. */
  readonly isById?: boolean;
  /** A further entry of the query. */
  readonly extra?: string;
}

/** Returns the text of a method that returns a list. */
function listText({ name, doc, leading, filters, type, call, isById = false, extra }: ListMethod): string {
  const parameters = ["self", ...leading, "*", ...filters.map(parameterText), "options: RequestOptions | None = None"];
  const entries = [...filters.map(entryText), ...(extra === undefined ? [] : [extra])];
  return `${bracketed(`def ${name}(`, parameters, `) -> ${type}:`, "    ")}
${docstring(doc, "        ")}
${bracketed(`query: dict[str, object] = {`, entries, "}", "        ")}
        return self._api.${call}query, options${isById ? ", is_by_id=True" : ""})
`;
}

/** Returns the text of a method that makes one call. */
function callText(endpoint: Endpoint, isAsync: boolean): string {
  const { verb, route, doc, pathArgument, hasEmptyBody, query, body, isIdempotent: takesKey, result } = endpoint;
  const options = takesKey ? "IdempotentRequestOptions" : "RequestOptions";
  // Required arguments come first, for people who read the signature: all are passed by name.
  const given = [...query, ...body].toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
  const parameters = [
    "self",
    ...(pathArgument ? [parameterText(pathArgument)] : []),
    "*",
    ...given.map(parameterText),
    `options: ${options} | None = None`,
  ];
  // The method first assigns the dictionaries `query` and `body`, unless they are empty, and passes them to the call.
  const dictionaries = Object.entries({ query, body }).filter(([, list]) => list.length > 0);
  const assignments = dictionaries.map(
    ([name, list]) => `${bracketed(`${name}: dict[str, object] = {`, list.map(entryText), "}", "        ")}\n`,
  );
  const callArguments = [
    route,
    "options",
    ...(pathArgument ? [`id=${pathArgument.name}`] : []),
    ...dictionaries.map(([name]) => `${name}=${name}`),
    ...(hasEmptyBody ? ["body={}"] : []),
  ];
  const awaited = isAsync ? "await " : "";
  return `${bracketed(`${isAsync ? "async " : ""}def ${snakeCase(verb)}(`, parameters, `) -> ${result}:`, "    ")}
${docstring(doc, "        ")}
${assignments.join("")}${bracketed(`answer = ${awaited}self._api.call(`, callArguments, ")", "        ")}
        return cast("${result}", answer)
`;
}

function parameterText({ name, type, isRequired }: Argument): string {
  return isRequired ? `${argumentName(name)}: ${type}` : `${argumentName(name)}: ${type} | None = None`;
}

function entryText({ name }: Argument): string {
  return `"${name}": ${argumentName(name)}`;
}

function clientText(nouns: readonly string[], docs: ReadonlyMap<string, string>, isAsync: boolean): string {
  const prefix = isAsync ? "Async" : "";
  const lines = nouns.flatMap((noun) => [
    `        self.${snakeCase(noun)} = ${prefix}${pascalCase(noun)}Resource(api)`,
    docstring(docs.get(noun) ?? "", "        "),
  ]);
  return `
class ${prefix}Resources:
    """The resources of the API."""

    def __init__(self, api: ${isAsync ? "AsyncApi" : "SyncApi"}) -> None:
${lines.join("\n")}
`;
}

/** Returns the head of resources.py, which imports the types that `text` uses. @param types the text of types.py */
function headOf(text: string, types: string): string {
  const code = text.replaceAll(/"""[\s\S]*?"""/g, "");
  // A type is used in an annotation (after an arrow, a colon, a bracket, a comma or a bar) or in a cast.
  const isUsed = (name: string) =>
    new RegExp(`(?<=-> |: |\\[|, |\\| )${name}(?=[\\],: )])|cast\\("${name}"`).test(code);
  // Types are declared as `class Name(TypedDict)` or `Name = …`.
  const declared = [...types.matchAll(/^(?:class )?(\w+)(?:\(TypedDict\)| = )/gm)].map(([, name = ""]) => name);
  const imported = declared.filter(isUsed);
  const options = ["IdempotentRequestOptions", "RequestOptions"];
  // A route is an argument of a call, in upper case: `(STATIONS_LIST,`.
  const routes = [...new Set([...text.matchAll(/(?<=[( ])[A-Z]+_[A-Z_]+(?=,)/g)].map(([name]) => name))];
  return `"""The methods of the resources, for threads and for tasks."""

${MADE}

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, ${code.includes(" Literal[") ? "Literal, " : ""}cast

${bracketed("from .routes import (", routes.toSorted(), ")", "")}

if TYPE_CHECKING:
    from .._async import AsyncApi, AsyncList
    from .._sync import List, SyncApi
    from ..options import ${options.join(", ")}
${bracketed("from ..types import (", imported.toSorted(), ")", "    ")}
`;
}
