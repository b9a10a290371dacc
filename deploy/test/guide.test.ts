import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const deploy = join(import.meta.dirname, "..");
const page = readFileSync(join(deploy, "../docs/operations.md"), "utf8");
const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, commands = ""]) => commands);

it("the commands of the operator's guide are a shell's, and name files and units that there are", () => {
  expect(blocks.length).toBeGreaterThan(8);
  for (const commands of blocks) {
    // `<address>` stands for what the reader fills in.
    execFileSync("sh", ["-n"], { input: commands.replaceAll(/<([\w ]+)>/g, "$1"), stdio: ["pipe", "pipe", "pipe"] });
  }
  const commands = blocks.join("\n");
  const examples = commands.matchAll(
    /(?<= |deploy\/)(?:systemd|nginx|haproxy|prometheus|docker|kubernetes)\/[\w.-]+\.\w+/g,
  );
  for (const [path] of examples) expect(existsSync(join(deploy, path)), path).toBe(true);
  for (const [, unit = ""] of commands.matchAll(/\b(bikeshare-\w+@)\d/g)) {
    expect(existsSync(join(deploy, "systemd", `${unit}.service`)), unit).toBe(true);
  }
});
