/*
 * Copies our other packages, as they are built, to dist/packages/, and rewrites the imports of the compiled server to point
 * there. So the published server is complete: the private packages are not published, and no version of a published one can
 * differ from what the server was tested with. Also copies the examples of deploy/. Runs after the compiler (`pnpm run
 * build`).
 */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly default: string } | string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const PACKAGES = ["contract", "csv", "embedded-postgres", "rules", "simulator", "webhooks"];
/** Examples for production, which docs/operations.md installs from the package. */
const EXAMPLES = ["systemd", "nginx", "haproxy", "patroni", "prometheus", "grafana", "kubernetes"];
const server = join(import.meta.dirname, "..");
const dist = join(server, "dist");
const copies = join(dist, "packages");
const sources = join(server, "../../packages");
/** An import of one of our packages: its keyword, the package's name, and perhaps an entry point such as `/node`. */
const IMPORT = /(\bfrom |\bimport |\bimport\()"@bikeshare\/([\w-]+)(\/[\w-]+)?"/g;

const manifestOf = (directory: string) => JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;
const manifests = new Map(PACKAGES.map((name) => [name, manifestOf(join(sources, name))]));

checkDependencies();
rmSync(copies, { recursive: true, force: true });
for (const name of PACKAGES) {
  cpSync(join(sources, name, "dist"), join(copies, name), { recursive: true, filter: isWanted });
}
for (const name of EXAMPLES) {
  cpSync(join(server, "../../deploy", name), join(dist, "deploy", name), { recursive: true });
}
for (const file of globSync("**/*.js", { cwd: dist, exclude: ["dashboard/**"] })) pointToCopies(join(dist, file));

/** Tells whether a file or folder is part of a program: neither types nor source maps are. */
function isWanted(path: string): boolean {
  return !/[.]d[.]ts$|[.]map$/.test(basename(path));
}

/** @throws Error if a copied package needs a module that the server does not depend on, or another version of it */
function checkDependencies(): void {
  const installed = manifestOf(server).dependencies ?? {};
  for (const [name, { dependencies = {} }] of manifests) {
    for (const [dependency, version] of Object.entries(dependencies)) {
      if (version.startsWith("workspace:") || installed[dependency] === version) continue;
      throw new Error(`packages/${name} needs ${dependency} ${version}: add it to the dependencies of apps/server.`);
    }
  }
}

/** Rewrites the imports of a module, and removes the reference to its source map, which is not published. */
function pointToCopies(file: string): void {
  const text = readFileSync(file, "utf8");
  const pointed = text
    .replaceAll(
      IMPORT,
      (_, keyword: string, name: string, entry: string = "") => `${keyword}"${pathTo(file, name, entry)}"`,
    )
    .replace(/^\/\/# sourceMappingURL=.*\n?/m, "");
  if (pointed !== text) writeFileSync(file, pointed);
}

/** Returns the path from a module to the copy of what it imports. */
function pathTo(importer: string, name: string, entry: string): string {
  const target = manifests.get(name)?.exports[`.${entry}`];
  if (typeof target !== "object") {
    throw new Error(`${importer} imports @bikeshare/${name}${entry}: add the package to PACKAGES of this tool.`);
  }
  const path = relative(dirname(importer), join(copies, name, target.default.replace("./dist/", "")));
  return path.startsWith(".") ? path : `./${path}`;
}
