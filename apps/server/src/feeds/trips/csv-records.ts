import { parse } from "csv-parse";
import { ImportFileError } from "./problems.ts";

/** What is done with the records of a CSV text, in the order of the file. */
export interface RecordHandler {
  /** One record; `line` is the line it begins on, as an editor counts. */
  record(fields: readonly string[], line: number): void;
  /** Called between chunks, so that what has piled up can be written away. */
  pause(): Promise<void>;
}

/**
 * Bytes of one record at most. Trip files have some 250; without a bound, a quote that never closes would pull
 * the rest of the file into memory.
 */
const MAX_RECORD_BYTES = 64 * 1024;

/**
 * Reads CSV. Empty lines are passed over; a quote within a field, doubled or not, is part of it.
 * @throws ImportFileError when a quote that does not close makes it unknowable where the next record begins
 * @throws whatever the handler throws
 */
export async function readRecords(text: AsyncIterable<Buffer>, handler: RecordHandler): Promise<void> {
  const { parser, rethrow } = openParser(handler);
  try {
    for await (const chunk of text) {
      await writeTo(parser, chunk);
      rethrow();
      await handler.pause();
    }
    await endOf(parser);
    rethrow();
  } finally {
    parser.destroy();
  }
}

/** A parser that hands records over, and a function that throws what the handler threw. */
function openParser(handler: RecordHandler): { parser: Parser; rethrow: () => void } {
  let lastLine = 0;
  let width: number | undefined;
  let failure: Error | undefined;
  const guard = (work: () => void) => {
    // The parser would take an error of ours for one of the record.
    try {
      if (failure === undefined) work();
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error), { cause: error });
    }
  };
  const parser = parse({
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_records_with_error: true,
    max_record_size: MAX_RECORD_BYTES,
    record_delimiter: ["\r\n", "\n", "\r"],
    on_record: (fields: string[], { lines }) => {
      const line = lastLine + 1;
      lastLine = lines;
      if (fields.length === 1 && fields[0] === "") return null;
      width ??= fields.length;
      guard(() => {
        if (lines > line && fields.length !== width) throw openQuote(line);
        handler.record(fields, line);
      });
      return null;
    },
  });
  // With quotes taken as they are, only a quote that does not close is left to go wrong.
  parser.on("skip", () => {
    guard(() => {
      throw openQuote(lastLine + 1);
    });
  });
  parser.resume();
  const rethrow = () => {
    if (failure !== undefined) throw failure;
  };
  return { parser, rethrow };
}

function openQuote(line: number): ImportFileError {
  return new ImportFileError("unparsable", line, "a quote opens here and does not close on its line");
}

type Parser = ReturnType<typeof parse>;

function writeTo(parser: Parser, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}

function endOf(parser: Parser): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.once("end", resolve);
    parser.once("error", reject);
    parser.end();
  });
}
