/*
 * Puts modules of our other packages, as they are built, into dist/, and lets the modules that import those packages, and
 * their types, point there: so the published package depends on nothing. Run after the compiler (`pnpm run build`).
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../node_modules/@bikeshare/", import.meta.url));
const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const IMPORT = /\b(from|import) "([^"]+)"/g;

copy("@bikeshare/webhooks", "webhooks");
copy("@bikeshare/rules", "testing/rules");

/** Copies a package's main module, and those that it needs, into the folder `folder` of dist/; `folder.js` exports it. */
function copy(name: string, folder: string): void {
  const target = `${dist}${folder}`;
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  const main = resolve(name, "");
  /** What a module's copy is called: `index`, and of other packages `contract-limits`. */
  const fileName = (module: string) => module.replace(main.replace("index", ""), "").replace("/dist/", "-");
  for (const extension of [".js", ".d.ts"]) {
    for (const module of reachable(main, extension)) {
      const pointing = (_: string, keyword: string, specifier: string) =>
        `${keyword} "./${fileName(resolve(specifier, module))}.js"`;
      writeFileSync(`${target}/${fileName(module)}${extension}`, read(module, extension).replace(IMPORT, pointing));
    }
    writeFileSync(`${target}${extension}`, `export * from "./${folder.split("/").at(-1)}/${fileName(main)}.js";\n`);
  }
  rmSync(`${target}.js.map`, { force: true });
}

/** The modules that a module needs, itself included. */
function reachable(module: string, extension: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(module)) return found;
  found.add(module);
  for (const [, , specifier = ""] of read(module, extension).matchAll(IMPORT)) {
    reachable(resolve(specifier, module), extension, found);
  }
  return found;
}

/** The module that an import means: `rules/dist/index`. */
function resolve(specifier: string, importer: string): string {
  const [, beside] = /^\.\/([\w.-]+)\.(?:js|ts)$/.exec(specifier) ?? [];
  if (beside !== undefined) return importer.replace(/[^/]+$/, beside);
  const [, name, entry = "index"] = /^@bikeshare\/(\w+)(?:\/(\w+))?$/.exec(specifier) ?? [];
  if (name === undefined) throw new Error(`${importer} imports ${specifier}: the copy would not be whole`);
  return `${name}/dist/${entry}`;
}

/** A module's text, without the way to its source map: the source is not copied. */
function read(module: string, extension: string): string {
  return readFileSync(`${packages}${module}${extension}`, "utf8").replace(/^\/\/# sourceMappingURL=.*\n?/m, "");
}
