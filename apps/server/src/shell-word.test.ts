import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { shellWord } from "./printable.ts";

it.each(["/var/lib/bikeshare", "/my data", `it's "quoted"`, "$HOME; `id`", "*", "ünï\\ty", ""])(
  "%s is one word of a shell",
  (path) => {
    expect(execFileSync("sh", ["-c", `printf %s ${shellWord(path)}`], { encoding: "utf8" })).toBe(path);
  },
);
