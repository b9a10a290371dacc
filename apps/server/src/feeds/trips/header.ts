import { columnKey, type TripField, type TripFormat, tripFormats } from "./formats.ts";
import { ImportFileError } from "./problems.ts";

/** Where a file has what. */
export interface Layout {
  readonly format: TripFormat;
  /** How many columns each row must have. */
  readonly width: number;
  /** The place of each field's column; undefined: this kind of file does not have it. */
  readonly places: Readonly<Partial<Record<TripField, number>>>;
  /** The columns' names as the file writes them. */
  readonly names: readonly string[];
}

/**
 * Recognises a trip file by its header, whatever the order, case and spacing of the columns.
 * @throws FileRefused for an unknown header, a missing column, or a column that such a file does not have
 */
export function recogniseHeader(header: readonly string[], line: number): Layout {
  const keys = header.map(columnKey);
  const ranked = tripFormats
    .map((format) => ({ format, ...compareColumns(keys, format) }))
    .toSorted((a, b) => a.missing.length + a.extra.length - (b.missing.length + b.extra.length));
  const best = ranked[0];
  if (best === undefined || best.missing.length > Object.keys(best.format.columns).length / 2) {
    const known = tripFormats.map(({ name }) => name).join("; ");
    throw new ImportFileError(
      "unknown_header",
      line,
      `the header "${shorten(header.join(","))}" is of no trip file we know (${known})`,
    );
  }
  const { format, missing, extra } = best;
  if (missing.length > 0) {
    throw new ImportFileError(
      "missing_column",
      line,
      `looks like ${format.name}, but has no column for ${missing.join(", ")}`,
    );
  }
  const [place] = extra;
  if (place !== undefined) {
    const name = header[place] ?? "";
    throw new ImportFileError(
      "extra_column",
      line,
      `looks like ${format.name}, but column ${place + 1} ("${shorten(name)}") does not belong there`,
    );
  }
  const places = Object.fromEntries(Object.entries(format.columns).map(([field, key]) => [field, keys.indexOf(key)]));
  return { format, width: keys.length, places, names: header.map((name) => name.trim()) };
}

/** Which columns of a format are missing, and the places of those that do not belong to it or come twice. */
function compareColumns(keys: readonly string[], format: TripFormat): { missing: string[]; extra: number[] } {
  const required = Object.values(format.columns);
  const known = new Set([...required, ...format.dropped]);
  return {
    missing: required.filter((key) => !keys.includes(key)),
    extra: keys.flatMap((key, place) => (known.has(key) && keys.indexOf(key) === place ? [] : [place])),
  };
}

function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
