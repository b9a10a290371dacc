/*
 * Records in releases.json which migrations the version in package.json comes with. From then on they are never edited, and
 * those that follow must not stop a service in use (migration-lint.ts). Run for each release, after its version is set.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readVersion } from "../src/version.ts";
import { readMigrationFiles } from "./migration-files.ts";
import { checksumOf, type Release } from "./migration-lint.ts";

const path = join(import.meta.dirname, "../releases.json");
const releases = JSON.parse(readFileSync(path, "utf8")) as readonly Release[];
const version = readVersion();
// Again for the same version: its release is still being prepared.
const earlier = releases.filter((release) => release.version !== version);
const released = new Set(earlier.flatMap(({ migrations }) => Object.keys(migrations)));
const added = (await readMigrationFiles()).filter(({ name }) => !released.has(name));
const migrations = Object.fromEntries(added.map(({ name, sql }) => [name, checksumOf(sql)]));
writeFileSync(path, `${JSON.stringify([...earlier, { version, migrations }], null, 2)}\n`);
