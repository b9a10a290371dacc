import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRecords } from "./index.ts";

// A fixed seed: a test that fails on one machine fails on every machine.
fc.configureGlobal({ seed: 1 });

/** Returns the records of a text that is read in pieces of `pieceBytes`: each as its line number and its fields. */
async function read(text: string, pieceBytes = 1000): Promise<unknown[]> {
  const bytes = Buffer.from(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  const records: unknown[] = [];
  await readRecords(pieces(), {
    record: (fields, line) => void records.push([line, ...fields]),
    pause: () => Promise.resolve(),
  });
  return records;
}

describe("readRecords", () => {
  it("gives the fields that were written, quoted or not, whatever the line end and wherever the bytes are cut", async () => {
    const field = fc
      .array(fc.constantFrom("a", "é", "駅", "😀", '"', ",", " ", "x\ny", "\n"))
      .map((parts) => parts.join(""));
    const records = fc
      .integer({ min: 2, max: 5 })
      .chain((width) => fc.array(fc.array(field, { minLength: width, maxLength: width })));
    await fc.assert(
      fc.asyncProperty(
        records,
        fc.constantFrom("\n", "\r\n", "\r"),
        fc.constantFrom("", "\uFEFF"),
        fc.boolean(),
        fc.integer({ min: 1, max: 9 }),
        async (rows, lineEnd, mark, isEnded, pieceBytes) => {
          const written = (value: string) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
          const text = rows.map((row) => row.map(written).join(",")).join(lineEnd) + (isEnded ? lineEnd : "");
          let line = 1;
          const expected = rows.map((row) => {
            const record = [line, ...row];
            line += 1 + (row.join("").match(/\n/g)?.length ?? 0);
            return record;
          });
          expect(await read(`${mark}${text}`, pieceBytes)).toEqual(expected);
        },
      ),
      { seed: 1 },
    );
  });

  it("takes quotes within a field as they are, doubled or not", async () => {
    const text = 'The "Loop" St,"The "Loop" St","The ""Loop"" St","a ""b"" c"d,"e, "f"\n';
    expect(await read(text)).toEqual([
      [1, 'The "Loop" St', '"The "Loop" St"', 'The "Loop" St', '"a "b" c"d', '"e, "f"'],
    ]);
  });

  it("refuses a quote that does not close, after the records before it", async () => {
    await expect(read('a,b\nc,"d\ne,f\n')).rejects.toMatchObject({ name: "OpenQuoteError", line: 2 });
    await expect(read(`a,b\n"${"c,d\n".repeat(20_000)}",e`)).rejects.toMatchObject({ name: "OpenQuoteError", line: 2 });
  });

  it.each([
    ["in several pieces, with and without quotes", `a,b\nc,"d"\n${"x".repeat(70_000)},"y"\ne,f\n`, 3],
    ["of the last line", `a,b\nc,${"x".repeat(70_000)}`, 2],
    ["of a file without line ends, in a quote", `{"${"x".repeat(70_000)}"}`, 1],
    ["of a quoted field", `a,b\n"${"x".repeat(70_000)}",c\n`, 2],
    ["before a carriage return", `a,b\r${"x,".repeat(40_000)}\re,f\r`, 2],
  ])("refuses a line that is too long, %s, by its number and the limit", async (_, text, line) => {
    await expect(read(text)).rejects.toMatchObject({ name: "LongLineError", line });
    await expect(read(text)).rejects.toThrow(`line ${line} has over 65,536 characters`);
  });

  it("takes a line of the length that it may have", async () => {
    expect(await read(`a,b\n${"x".repeat(65_533)},y\n`)).toHaveLength(2);
  });
});
