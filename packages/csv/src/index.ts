/* Reads the records of CSV files of any size, such as trip files, in little memory. */
import { StringDecoder } from "node:string_decoder";

/**
 * A quote does not close before the text ends, or its record spans lines and is too long or has another number of fields
 * than the first record. So the reader cannot tell where the next record begins.
 */
export class OpenQuoteError extends Error {
  override readonly name = "OpenQuoteError";
  /** The number of the line on which the record with the quote begins, counted from 1. */
  readonly line: number;

  constructor(line: number) {
    super("a quote opens here and does not close on its line");
    this.line = line;
  }
}

/** A line is longer than any record may be. The reader may throw before it has read the line to its end. */
export class LongLineError extends Error {
  override readonly name = "LongLineError";
  /** The line's number, counted from 1. */
  readonly line: number;

  constructor(line: number) {
    super(
      `line ${line} has over ${MAX_RECORD_LENGTH.toLocaleString("en")} characters, the most that one may have: check that the file is CSV with a line for each record, and shorten or remove this line`,
    );
    this.line = line;
  }
}

/** Handlers of the records of a CSV text, in the order of the file. */
export interface RecordHandler {
  /**
   * Called for each record; `line` is the number of the line on which it begins, counted from 1. A field may be a slice of a
   * long string, which stays in memory as long as the field does.
   */
  record(fields: readonly string[], line: number): void;
  /** Called between chunks, so that the handler can write buffered records. */
  pause(): Promise<void>;
}

/**
 * Maximum characters of one record. Records of trip files have about 250. Without a bound, a quote that never closes would
 * pull the rest of the file into memory.
 */
const MAX_RECORD_LENGTH = 64 * 1024;

/** Bytes decoded at a time. Too high: strings miss the heap's young generation, and pile up until a full collection. */
const PIECE_BYTES = 32 * 1024;

const BYTE_ORDER_MARK = "\uFEFF";
const QUOTE = 0x22;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Reads CSV. Skips empty lines. In an unquoted field, every quote is text.
 * @throws OpenQuoteError
 * @throws LongLineError
 * @throws the error of the handler
 */
export async function readRecords(text: AsyncIterable<Buffer>, handler: RecordHandler): Promise<void> {
  const decoder = new StringDecoder("utf8");
  const read = createReader(handler);
  for await (const chunk of text) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      read(decoder.write(chunk.subarray(at, at + PIECE_BYTES)), false);
    }
    await handler.pause();
  }
  read(decoder.end(), true);
}

/** Returns a function that takes the text piece by piece and passes the records to the handler. */
function createReader(handler: RecordHandler): (piece: string, isLast: boolean) => void {
  /** The beginning of a record whose end has not been read yet. */
  let rest = "";
  /** The number of the line on which the next record begins. */
  let line = 1;
  /** Whether any text has been read. Only the first text may begin with a byte order mark. */
  let isBegun = false;
  /** The number of fields of the first record. */
  let width: number | undefined;
  return (piece, isLast) => {
    const text = rest + (isBegun || !piece.startsWith(BYTE_ORDER_MARK) ? piece : piece.slice(1));
    isBegun ||= piece !== "";
    let start = 0;
    while (start < text.length) {
      const record = readRecord(text, start, isLast);
      // The length of an incomplete record is checked too, because `rest` keeps it in memory.
      const recordEnd = record === undefined ? text.length : record.end;
      if (recordEnd - start > MAX_RECORD_LENGTH) throw longRecordError(text, start, line);
      if (record === undefined) break;
      const { fields, end, lines } = record;
      if (fields.length > 1 || fields[0] !== "") {
        width ??= fields.length;
        // A record that spans lines and has another number of fields than the first record contains a stray quote.
        if (lines > 1 && fields.length !== width) throw new OpenQuoteError(line);
        handler.record(fields, line);
      }
      line += lines;
      start = end;
    }
    if (isLast && start < text.length) throw new OpenQuoteError(line);
    rest = text.slice(start);
  };
}

/** Returns the error for a record that is too long: either one line is too long, or an open quote spans several lines. */
function longRecordError(text: string, start: number, line: number): Error {
  const hasLineEnd = /[\r\n]/.test(text.slice(start, start + MAX_RECORD_LENGTH));
  return hasLineEnd ? new OpenQuoteError(line) : new LongLineError(line);
}

interface CsvRecord {
  readonly fields: readonly string[];
  /** The position of the next record. */
  readonly end: number;
  /** The number of lines that the record spans. */
  readonly lines: number;
}

/**
 * Reads the record that begins at `start`; undefined when the text may end before the record does.
 * @param isLast whether the text ends the file
 */
function readRecord(text: string, start: number, isLast: boolean): CsvRecord | undefined {
  const fields: string[] = [];
  let lines = 1;
  for (let position = start; ; position++) {
    let end: number;
    if (text.charCodeAt(position) === QUOTE) {
      const field = readQuotedField(text, position);
      if (field === undefined) return undefined;
      fields.push(field.value);
      lines += field.value.match(LINE_ENDS)?.length ?? 0;
      end = field.end;
    } else {
      end = endOfField(text, position);
      fields.push(text.slice(position, end));
    }
    const next = text.charCodeAt(end);
    if (next === COMMA) {
      // The next field begins after the comma.
      position = end;
      continue;
    }
    // The piece ends here, and the next one may continue the field, a doubled quote or a CRLF. Only after a line feed the
    // record is surely complete.
    if (end + 1 >= text.length && !isLast) return next === LINE_FEED ? { fields, end: end + 1, lines } : undefined;
    const lineEndLength = next === CARRIAGE_RETURN && text.charCodeAt(end + 1) === LINE_FEED ? 2 : 1;
    return { fields, end: end + lineEndLength, lines };
  }
}

const LINE_ENDS = /\r\n|\r|\n/g;

/** Returns the end of an unquoted field: at a comma, at a line end, or at the end of the text. */
function endOfField(text: string, start: number): number {
  let end = start;
  for (; end < text.length; end++) {
    const unit = text.charCodeAt(end);
    if (unit === COMMA || unit === LINE_FEED || unit === CARRIAGE_RETURN) break;
  }
  return end;
}

/**
 * Reads the field whose opening quote is at `start`; undefined when no quote closes it. A single quote in the middle is
 * a mistake of the program that wrote the field. It is then text, as the opening quote is, and the field ends at the
 * next comma or line end behind it.
 */
function readQuotedField(text: string, start: number): { readonly value: string; readonly end: number } | undefined {
  let value = "";
  for (let from = start + 1; ;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return undefined;
    value += text.slice(from, quote);
    const next = quote + 1;
    if (text.charCodeAt(next) === QUOTE) {
      value += '"';
      from = next + 1;
    } else if (endOfField(text, next) === next) {
      return { value, end: next };
    } else {
      const end = endOfField(text, next);
      return { value: `"${value}${text.slice(quote, end)}`, end };
    }
  }
}
