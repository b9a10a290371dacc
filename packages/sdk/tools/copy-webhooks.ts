/*
 * Puts the files of @bikeshare/webhooks, as they are built, into dist/webhooks/, and lets dist/webhooks.js and its types
 * point there: so `@bikeshare/sdk/webhooks` needs no other package. Run after the compiler (`pnpm run build`).
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const from = fileURLToPath(new URL("../node_modules/@bikeshare/webhooks/dist/", import.meta.url));
const dist = fileURLToPath(new URL("../dist/", import.meta.url));

rmSync(`${dist}webhooks`, { recursive: true, force: true });
mkdirSync(`${dist}webhooks`);
for (const end of [".js", ".d.ts"]) {
  for (const name of reachable(end)) writeFileSync(`${dist}webhooks/${name}${end}`, read(name, end));
  writeFileSync(`${dist}webhooks${end}`, `export * from "./webhooks/index.js";\n`);
}
rmSync(`${dist}webhooks.js.map`, { force: true });

/** The modules that the main entry needs, itself included. */
function reachable(end: string, name = "index", found: Set<string> = new Set()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, specifier = ""] of read(name, end).matchAll(/\b(?:from|import) "([^"]+)"/g)) {
    const [, next] = /^\.\/([\w.-]+)\.(?:js|ts)$/.exec(specifier) ?? [];
    if (next === undefined) throw new Error(`${name}${end} imports ${specifier}: the copy would not be whole`);
    reachable(end, next, found);
  }
  return found;
}

/** A module's text, without the way to its source map: the source is not copied. */
function read(name: string, end: string): string {
  return readFileSync(`${from}${name}${end}`, "utf8").replace(/^\/\/# sourceMappingURL=.*\n?/m, "");
}
