import { execFile } from "node:child_process";
import { join } from "node:path";
import { Writable } from "node:stream";
import { promisify } from "node:util";
import { anyText } from "@bikeshare/test-kit/text";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createOutput } from "./output.ts";

// oxlint-disable-next-line no-control-regex -- control characters are the point
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]|\p{Cf}/u;
/** Holds a one-character escape sequence, a terminal's title, a name written backwards and an invisible tag. */
const hostile = "a\u009b31mb\u001b]0;x\u0007c\u202Egnp.exe\u200B\u{E0041}\u007f\u2028d\r\n";

function written(json: boolean, text: string): string {
  let all = "";
  const stream = new Writable({
    write(chunk, _, done) {
      all += String(chunk);
      done();
    },
  });
  const output = createOutput(json, { stdout: stream, stderr: stream });
  output.note(text);
  output.result({ object: { text }, text });
  return all;
}

it("nothing that a stranger wrote reaches the terminal's controls or turns the direction of writing, as text or as JSON", () => {
  for (const json of [false, true]) {
    expect(written(json, hostile)).not.toMatch(UNSAFE);
    fc.assert(
      fc.property(anyText({ maxLength: 50 }), (text) => !UNSAFE.test(written(json, text + hostile))),
      { numRuns: 100, seed: 7 },
    );
  }
});

it("JSON gives back exactly what was put in", () => {
  fc.assert(
    fc.property(anyText({ maxLength: 50 }), (text) => {
      const line =
        written(true, text + hostile)
          .split("\n")
          .at(-2) ?? "";
      expect(JSON.parse(line)).toEqual({ text: text + hostile });
    }),
    { numRuns: 100, seed: 8 },
  );
});

it("what people write stays: line ends, tabs, letters of any alphabet", () => {
  expect(written(false, "Zürich\t東京\nΑθήνα")).toBe("Zürich\t東京\nΑθήνα\nZürich\t東京\nΑθήνα\n");
});

it("a message clears the progress line before it, on a terminal alone", () => {
  for (const isTTY of [true, false]) {
    let all = "";
    const write = (chunk: unknown, _: unknown, done: () => void) => {
      all += String(chunk);
      done();
    };
    const stream = Object.assign(new Writable({ write }), { isTTY });
    const output = createOutput(false, { stdout: stream, stderr: stream });
    // A name in somebody else's archive may hold what a terminal obeys.
    output.progress("3 of 9 tables\u001b]0;title\u0007");
    output.note("It failed.");
    expect(all.replaceAll("\r\u001b[2K", "<clear>")).toBe(
      isTTY ? "<clear>3 of 9 tables\ufffd]0;title\ufffd<clear>It failed.\n" : "It failed.\n",
    );
  }
});

it("a command whose output nobody reads to the end says nothing of it", async () => {
  const main = join(import.meta.dirname, "../main.ts");
  const script = '"$0" --conditions=@bikeshare/source "$1" --help | true; exit "${PIPESTATUS[0]}"';
  const { stdout, stderr } = await promisify(execFile)("bash", ["-c", script, process.execPath, main]);
  expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "" });
});
