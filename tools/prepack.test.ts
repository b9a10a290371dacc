import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..");

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly scripts: Readonly<Record<string, string>>;
}

const published = globSync("{apps,packages}/*/package.json", { cwd: root })
  .map((file) => JSON.parse(readFileSync(join(root, file), "utf8")) as Manifest)
  .filter((manifest) => manifest.private !== true);

it("every published package builds what it packs, and what it is built from, before it is packed", () => {
  expect(published.map(({ name }) => name).toSorted()).toEqual(
    ["contract", "sdk", "server", "webhooks"].map((name) => `@bikeshare/${name}`),
  );
  for (const { name, scripts } of published) {
    // The build must print to stderr, because the packing program may print JSON to stdout.
    expect(scripts["prepack"], name).toMatch(new RegExp(`turbo run build --filter ${name} .*>&2$`));
  }
});
