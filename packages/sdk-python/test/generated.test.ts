import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, it } from "vitest";
import { generatedFiles } from "../tools/generated-files.ts";

it.each(generatedFiles().map(({ url, text }) => [basename(url.pathname), url, text] as const))(
  "%s is up to date with the contract",
  (_, url, text) => {
    expect(readFileSync(url, "utf8"), "run `pnpm --filter @bikeshare/sdk-python run generate`").toBe(text);
  },
);
