/** Which slice of a list is asked for. */
export type SliceRequest<Position> =
  | { readonly kind: "first"; readonly limit: number }
  | { readonly kind: "page"; readonly page: number; readonly limit: number }
  | { readonly kind: "cursor"; readonly after: Position; readonly limit: number };

/** A slice of a list, its items in their JSON. */
export interface Slice<Position> {
  /** The items' JSON texts, with commas between. */
  readonly items: string;
  /** Position of the last item, when more follow. */
  readonly next: Position | undefined;
  /** Items in the whole list; undefined when the slice was asked for by cursor. */
  readonly total: number | undefined;
}

/** How a list writes the position of an item, to be sealed into a cursor. */
export interface PositionCodec<Position> {
  encode(position: Position): string;
  /** Undefined when the text is no position of this list. */
  decode(text: string): Position | undefined;
}

/** Where the rows of a slice begin: after a position, or after so many rows (then the list's length is asked for too). */
export type SliceStart<Position> = { readonly after: Position } | { readonly skip: number };

/** Where the rows of a requested slice begin. */
export function startOf<Position>(request: SliceRequest<Position>): SliceStart<Position> {
  switch (request.kind) {
    case "cursor":
      return { after: request.after };
    case "first":
      return { skip: 0 };
    case "page":
      // Past 2^53 numbers are no longer exact; no list is that long, so the answer is the same.
      return { skip: Math.min((request.page - 1) * request.limit, Number.MAX_SAFE_INTEGER) };
  }
}
