/*
 * Copies built modules of our other packages into dist/, and changes the imports of those packages in dist/ to the copies.
 * So the published package has no dependencies. Run it after the compiler (`pnpm run build`).
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../node_modules/@bikeshare/", import.meta.url));
const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const IMPORT = /\b(from|import) "([^"]+)"/g;

copyPackage("webhooks", "webhooks", { index: "webhooks", testing: "testing/webhooks" });
copyPackage("rules", "testing/rules", { index: "testing/rules" });

/**
 * Copies modules of a package, and the modules that they need, into a folder of dist/.
 * @param entries the modules to copy, each with the module of dist/ that exports the copy: `{ index: "webhooks" }` makes
 *   dist/webhooks.js export everything of dist/webhooks/index.js
 */
function copyPackage(name: string, folder: string, entries: Readonly<Record<string, string>>): void {
  rmSync(dist + folder, { recursive: true, force: true });
  mkdirSync(dist + folder);
  /** Returns the file name of a module's copy: `index`, or for modules of other packages a name like `contract-limits`. */
  const fileName = (module: string) => module.replace(`${name}/dist/`, "").replace("/dist/", "-").replaceAll("/", "-");
  for (const [entry, exporter] of Object.entries(entries)) {
    for (const extension of [".js", ".d.ts"]) {
      for (const module of reachable(`${name}/dist/${entry}`, extension)) {
        const pointToCopy = (_: string, keyword: string, specifier: string) =>
          `${keyword} "./${fileName(resolve(specifier, module))}.js"`;
        writeFileSync(
          `${dist}${folder}/${fileName(module)}${extension}`,
          read(module, extension).replace(IMPORT, pointToCopy),
        );
      }
      // The compiled exporter imports the other package. It is replaced by one that exports the copy.
      const path = relative(dirname(exporter), `${folder}/${entry}.js`);
      writeFileSync(
        `${dist}${exporter}${extension}`,
        `export * from "${path.startsWith(".") ? path : `./${path}`}";\n`,
      );
    }
    // The source map belongs to the text that was replaced.
    rmSync(`${dist}${exporter}.js.map`, { force: true });
  }
}

/** Returns the modules that a module needs, itself included. */
function reachable(module: string, extension: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(module)) return found;
  found.add(module);
  for (const [, , specifier = ""] of read(module, extension).matchAll(IMPORT)) {
    reachable(resolve(specifier, module), extension, found);
  }
  return found;
}

/** Returns the module that an import refers to, such as `rules/dist/index`. */
function resolve(specifier: string, importer: string): string {
  const [, path] = /^(\.{1,2}\/[\w./-]+)\.(?:js|ts)$/.exec(specifier) ?? [];
  if (path !== undefined) return join(dirname(importer), path);
  const [, name, entry = "index"] = /^@bikeshare\/(\w+)(?:\/(\w+))?$/.exec(specifier) ?? [];
  if (name === undefined) throw new Error(`${importer} imports ${specifier}: the copy would not be whole`);
  return `${name}/dist/${entry}`;
}

/** Returns a module's text, without the link to its source map, because sources are not copied. */
function read(module: string, extension: string): string {
  return readFileSync(`${packages}${module}${extension}`, "utf8").replace(/^\/\/# sourceMappingURL=.*\n?/m, "");
}
