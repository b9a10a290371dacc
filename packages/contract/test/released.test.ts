import { randomRuns } from "@bikeshare/test-kit";
import { describe, expect, test } from "vitest";
import { type Contract, findBreaks } from "../tools/compare-documents.ts";
import { documentNames, presentContract, releasedContract } from "../tools/released.ts";

const today = new Date().toISOString().slice(0, 10);

describe.each(documentNames)("the contract in the document of %s", (name) => {
  test("breaks nothing that was written for the last release (docs/decisions/interface.md#versions)", () => {
    expect(findBreaks(releasedContract(name), presentContract(name), today)).toEqual([]);
  });
});

type Node = Record<string, unknown>;
/** A change of a contract: its kind, and a function that applies it. */
type Change = readonly [kind: string, apply: (copy: Contract) => void];

/** How many changes of each kind are tried in each document, chosen at even distances. */
const TRIED_OF_A_KIND = randomRuns(3);

function chosen(changes: readonly (readonly [location: string, change: Change])[]) {
  const byKind = Map.groupBy(changes, ([, [kind]]) => kind);
  return [...byKind.values()].flatMap((all) => {
    const step = Math.max(1, Math.floor(all.length / TRIED_OF_A_KIND));
    return all.filter((_, index) => index % step === 0);
  });
}

/** Returns the breaking changes that the comparison misses, and what it reports for harmless ones. */
function mistakesIn(
  contract: Contract,
  changes: readonly (readonly [location: string, Record<"breaking" | "harmless", Change[]>])[],
) {
  const listed = (which: "breaking" | "harmless") =>
    chosen(changes.flatMap(([location, { [which]: all }]) => all.map((change) => [location, change] as const)));
  const uncaught = listed("breaking")
    .filter(([, [, apply]]) => breaksOf(contract, apply).length === 0)
    .map(([location, [kind]]) => `${location}: ${kind}`);
  const falseAlarms = listed("harmless").flatMap(([location, [kind, apply]]) =>
    breaksOf(contract, apply).map((rule) => `${location}: ${kind}: ${rule}`),
  );
  return { uncaught, falseAlarms };
}

/** Makes a change to a copy of the contract, and returns what the comparison reports. */
function breaksOf(contract: Contract, apply: (copy: Contract) => void): string[] {
  const copy = structuredClone(contract);
  apply(copy);
  return findBreaks(contract, copy, today).map(({ location, rule }) => `${location}: ${rule}`);
}

/** Returns every schema of what one side sends, as a path of keys from the root. It follows references by name. */
function schemasOf(contract: Contract, sender: "client" | "service"): string[][] {
  const found = new Map<string, string[]>();
  const at = (path: readonly string[]) => path.reduce<unknown>((node, key) => (node as Node)[key], contract);
  const visit = (path: string[]): void => {
    const schema = at(path) as Node | undefined;
    if (schema === undefined || found.has(path.join("/"))) return;
    if (typeof schema["$ref"] === "string") return visit(["components", "schemas", schema["$ref"].split("/").at(-1)!]);
    found.set(path.join("/"), path);
    for (const name of Object.keys(schema["properties"] ?? {})) visit([...path, "properties", name]);
    if (schema["items"] !== undefined) visit([...path, "items"]);
    for (const union of ["anyOf", "oneOf", "allOf"])
      for (const index of Object.keys(schema[union] ?? [])) visit([...path, union, index]);
  };
  const media = (path: string[]) => {
    const content = at([...path, "content"]) as Node | undefined;
    for (const type of Object.keys(content ?? {})) visit([...path, "content", type, "schema"]);
  };
  for (const kind of ["paths", "webhooks"] as const)
    for (const [path, item] of Object.entries(contract[kind]))
      for (const [method, operation] of Object.entries(item)) {
        const base = [kind, path, method];
        const isSentByService = kind === "webhooks";
        if (operation.requestBody !== undefined && (sender === "service") === isSentByService)
          media([...base, "requestBody"]);
        if (isSentByService) continue;
        if (sender === "service")
          for (const status of Object.keys(operation.responses)) media([...base, "responses", status]);
        else
          for (const [index, parameter] of (operation.parameters ?? []).entries())
            if ("schema" in parameter) visit([...base, "parameters", String(index), "schema"]);
      }
  return [...found.values()];
}

const nodeAt = (contract: Contract, path: readonly string[]) =>
  path.reduce<Node>((node, key) => node[key] as Node, contract as unknown as Node);

/** Returns the changes that can be made to one schema, each with its kind. */
function schemaChanges(contract: Contract, path: readonly string[], sender: "client" | "service") {
  const schema = nodeAt(contract, path);
  const edit = (change: (schema: Node) => void) => (copy: Contract) => change(nodeAt(copy, path));
  const properties = Object.keys(schema["properties"] ?? {});
  const required = (schema["required"] ?? []) as string[];
  const optional = properties.filter((name) => !required.includes(name));
  const isUnionMember = ["anyOf", "oneOf", "allOf"].includes(path.at(-2) ?? "");
  const breaking: Change[] = [];
  const harmless: Change[] = [];
  for (const name of properties)
    breaking.push(["field removed", edit((node) => delete (node["properties"] as Node)[name])]);
  if (properties.length > 0)
    harmless.push([
      "optional field added",
      edit((node) => ((node["properties"] as Node)["added"] = { type: "string" })),
    ]);
  if (sender === "client" && optional[0] !== undefined)
    breaking.push(["field required", edit((node) => (node["required"] = [...required, optional[0]!]))]);
  if (sender === "service" && required[0] !== undefined)
    breaking.push(["field may be absent", edit((node) => (node["required"] = required.slice(1)))]);
  if (typeof schema["type"] === "string" && !isUnionMember) {
    breaking.push([
      "another type",
      edit((node) => (node["type"] = schema["type"] === "boolean" ? "string" : "boolean")),
    ]);
    const orNull: Change = ["null allowed", edit((node) => (node["type"] = [schema["type"], "null"]))];
    (sender === "service" ? breaking : harmless).push(orNull);
  }
  const values = schema["enum"] as unknown[] | undefined;
  if (values !== undefined && !isUnionMember) {
    const [removed, added] = [
      edit((n) => (n["enum"] = values.slice(1))),
      edit((n) => (n["enum"] = [...values, "added"])),
    ];
    // The service's enums of one value keep it, because that value tells the members of a union apart.
    if (sender === "client" || values.length > 1) breaking.push(["value removed", removed]);
    if (sender === "client") harmless.push(["value added", added]);
    else breaking.push(["value added to a closed list", added]);
  }
  if (sender === "client" && schema["default"] !== undefined)
    breaking.push(["another default", edit((node) => (node["default"] = "another"))]);
  const union = (schema["anyOf"] ?? []) as Node[];
  const known = union.findIndex((member) => Array.isArray(member["enum"]));
  const namesOf = (node: Node) => (node["anyOf"] as Node[])[known]!["enum"] as unknown[];
  if (sender === "service" && known !== -1) {
    breaking.push(["value removed from an open list", edit((node) => void namesOf(node).shift())]);
    harmless.push(["value added to an open list", edit((node) => void namesOf(node).push("added"))]);
  }
  for (const [keyword, step] of Object.entries({
    minimum: 1,
    minLength: 1,
    minItems: 1,
    maximum: -1,
    maxLength: -1,
    maxItems: -1,
  })) {
    const bound = schema[keyword];
    if (typeof bound !== "number" || isUnionMember) continue;
    const narrow: Change = [`${keyword} narrowed`, edit((node) => (node[keyword] = bound + step))];
    const widen: Change = [`${keyword} widened`, edit((node) => (node[keyword] = bound - step))];
    (sender === "client" ? breaking : harmless).push(narrow);
    (sender === "client" ? harmless : breaking).push(widen);
  }
  return { breaking, harmless };
}

const contracts = documentNames.map((name) => ({ name, contract: presentContract(name) }));

describe.each(contracts)("of the document of $name", ({ contract }) => {
  test.each(["client", "service"] as const)("changes of what the %s sends are caught, and additions pass", (sender) => {
    const other = schemasOf(contract, sender === "client" ? "service" : "client");
    const shared = new Set(other.map((path) => path.join("/")));
    const changes = schemasOf(contract, sender).map((path) => {
      const { breaking, harmless } = schemaChanges(contract, path, sender);
      // A schema that both sides send has no harmless changes: a change that is harmless for one side breaks the other.
      return [path.join("/"), { breaking, harmless: shared.has(path.join("/")) ? [] : harmless }] as const;
    });
    expect(mistakesIn(contract, changes)).toEqual({ uncaught: [], falseAlarms: [] });
  });

  test("changes of endpoints are caught, and additions pass", () => {
    const changes = Object.entries(contract.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => {
        const location = ["paths", path, method];
        return [location.join(" "), operationChanges(location, operation as unknown as Node)] as const;
      }),
    );
    expect(mistakesIn(contract, changes)).toEqual({ uncaught: [], falseAlarms: [] });
  });
});

function operationChanges(path: readonly string[], operation: Node) {
  const edit = (change: (operation: Node) => void) => (copy: Contract) => change(nodeAt(copy, path));
  const answers = Object.entries(operation["responses"] as Record<string, Node>);
  const parameters = (operation["parameters"] ?? []) as Node[];
  const breaking: Change[] = [
    ["method removed", (copy) => delete nodeAt(copy, path.slice(0, 2))[path[2]!]],
    ["path renamed", (copy) => rename(copy.paths, path[1]!)],
    ["name changed", edit((node) => (node["operationId"] = "another"))],
    ["another scope", edit((node) => (node["x-required-scope"] = "webhooks:write"))],
    ["parameter required", edit((node) => (node["parameters"] = [...parameters, addedParameter(true)]))],
    ...parameters.map((_, index): Change => [
      "parameter removed",
      edit((node) => (node["parameters"] = parameters.toSpliced(index, 1))),
    ]),
    ...answers.flatMap(([status, answer]): Change[] => [
      ["status removed", edit((node) => delete (node["responses"] as Node)[status])],
      ...Object.keys((answer["headers"] ?? {}) as Node).map((name): Change => [
        "header removed",
        (copy) => delete nodeAt(copy, [...path, "responses", status, "headers"])[name],
      ]),
      ...(status < "400" ? [] : codeChanges([...path, "responses", status], answer)),
    ]),
  ];
  const itemErrors = (operation["x-item-errors"] ?? []) as string[];
  if (itemErrors.length > 0)
    breaking.push(["error code of an item removed", edit((node) => (node["x-item-errors"] = itemErrors.slice(1)))]);
  if (operation["requestBody"] !== undefined)
    breaking.push(["body removed", edit((node) => delete node["requestBody"])]);
  const harmless: Change[] = [
    ["parameter added", edit((node) => (node["parameters"] = [...parameters, addedParameter(false)]))],
    ["status added", edit((node) => ((node["responses"] as Node)["418"] = { content: {} }))],
    ["deprecated", edit((node) => Object.assign(node, { deprecated: true, "x-sunset": "2999-01-01" }))],
    ["path added", (copy) => ((copy.paths as Node)["/v1/added"] = { get: operation })],
  ];
  return { breaking, harmless };
}

function codeChanges(path: readonly string[], answer: Node): Change[] {
  return Object.entries((answer["content"] ?? {}) as Record<string, Node>).flatMap(([type, media]) =>
    Object.keys(media["examples"] ?? {}).map((code): Change => [
      "error code removed",
      (copy) => delete nodeAt(copy, [...path, "content", type, "examples"])[code],
    ]),
  );
}

function rename(node: Node, name: string): void {
  node[`${name}/renamed`] = node[name];
  delete node[name];
}

const addedParameter = (required: boolean) => ({ name: "added", in: "query", required, schema: { type: "string" } });

test("a route that was deprecated may be removed after its sunset, and not before", () => {
  const released = structuredClone(releasedContract("partners"));
  Object.assign(nodeAt(released, ["paths", "/v1/stations", "get"]), { deprecated: true, "x-sunset": "2028-01-31" });
  const after = structuredClone(released);
  delete nodeAt(after, ["paths"])["/v1/stations"];
  expect(findBreaks(released, after, "2028-01-30")).toEqual([
    { location: "GET /v1/stations", rule: "the endpoint is gone, and its sunset is 2028-01-31" },
  ]);
  expect(findBreaks(released, after, "2028-01-31")).toEqual([]);
});

test("a sunset that was announced may be later, or be taken back, and not sooner", () => {
  const announce = (contract: Contract, sunset: string | undefined) => {
    const copy = structuredClone(contract);
    const operation = nodeAt(copy, ["paths", "/v1/stations", "get"]);
    if (sunset !== undefined) Object.assign(operation, { deprecated: true, "x-sunset": sunset });
    return copy;
  };
  const contract = presentContract("partners");
  const announced = announce(contract, "2028-01-31");
  expect(findBreaks(announced, announce(contract, "2028-01-30"), today)).toEqual([
    { location: "GET /v1/stations", rule: "its sunset was 2028-01-31 and is 2028-01-30" },
  ]);
  for (const sunset of ["2028-02-01", undefined])
    expect(findBreaks(announced, announce(contract, sunset), today)).toEqual([]);
});

test.each([
  { was: "none", is: "any", isBreak: true },
  { was: "operator", is: "any", isBreak: true },
  { was: "any", is: "stations:read", isBreak: true },
  { was: "stations:read", is: "rides:read", isBreak: true },
  { was: "stations:read", is: "operator", isBreak: true },
  { was: "stations:read", is: "any", isBreak: false },
  { was: "any", is: "none", isBreak: false },
])("an endpoint that needed the scope $was and needs $is breaks its callers: $isBreak", ({ was, is, isBreak }) => {
  const contract = presentContract("partners");
  const needing = (scope: string) => {
    const copy = structuredClone(contract);
    nodeAt(copy, ["paths", "/v1/stations", "get"])["x-required-scope"] = scope;
    return copy;
  };
  const rule = `it needed the scope ${was} and needs ${is}`;
  expect(findBreaks(needing(was), needing(is), today)).toEqual(isBreak ? [{ location: "GET /v1/stations", rule }] : []);
});

test("a message names the location, down to the field, and the rule", () => {
  const contract = presentContract("partners");
  const breaks = breaksOf(contract, (copy) => {
    const { name } = nodeAt(copy, ["components", "schemas", "StationAt", "properties"]) as Record<string, Node>;
    name!["type"] = ["string", "null"];
    nodeAt(copy, ["components", "schemas", "ReservationRequest", "properties"])["station_id"] = { type: "integer" };
  });
  expect(breaks).toContain("GET /v1/stations/{id}, answer 200, body.name: it may be null from now on");
  expect(breaks).toContain('POST /v1/reservations, body.station_id: type was "string" and is "integer"');
});
