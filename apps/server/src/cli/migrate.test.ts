import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

it("a plan of a database that cannot be reached says which variable is wrong and what to do, and ends with 2", async () => {
  const main = join(import.meta.dirname, "../main.ts");
  // Nothing listens on port 1.
  const env = { ...process.env, DATABASE_URL: "postgres://bikes:secret@127.0.0.1:1/bikes", DATA_DIR: tmpdir() };
  const ended = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
    execFile(
      process.execPath,
      ["--conditions=@bikeshare/source", main, "migrate", "plan"],
      { env },
      (error, _, stderr) => resolve({ code: error?.code, stderr }),
    );
  });
  expect(ended.stderr).toMatch(/^DATABASE_URL: nothing listens at 127\.0\.0\.1:1\. Start PostgreSQL there/);
  expect(ended.stderr).not.toContain("secret");
  expect(ended.code).toBe(2);
});
