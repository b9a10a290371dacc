import { format } from "node:util";
import { afterAll, afterEach } from "vitest";

/* Fails each test that writes to the console, because noise hides the messages of failures. */

/** What the present test has written. */
const written: string[] = [];

const methods = ["debug", "dir", "error", "info", "log", "table", "trace", "warn"] as const;
for (const method of methods) {
  console[method] = (...values: unknown[]): void => {
    written.push(`console.${method}: ${format(...values)}`);
  };
}

function failIfWritten(): void {
  const lines = written.splice(0);
  if (lines.length > 0) throw new Error(`Stray console output:\n${lines.join("\n")}`);
}

afterEach(failIfWritten);
// Output of imports, beforeAll and afterAll belongs to no test; it fails the file.
afterAll(failIfWritten);
