import type { ServiceError } from "@bikeshare/rules";

interface PlacesOptions {
  /** The most places of one reader. */
  readonly ofReader: number;
  /** The most places of all readers together. */
  readonly inAll: number;
  /** Returns the error when no place is free. @param limit the limit that is reached */
  readonly refuse: (limit: number) => ServiceError;
}

/**
 * Limits how many answers are open at the same time, because each takes memory until its reader has read it. An open answer
 * holds one place.
 */
export interface Places {
  /**
   * Takes a place.
   * @param reader any text that names who reads
   * @returns a function that gives the place back
   * @throws ServiceError when no place is free
   */
  take(reader: string): () => void;
}

export function createPlaces({ ofReader, inAll, refuse }: PlacesOptions): Places {
  const readers = new Map<string, number>();
  let all = 0;
  return {
    take(reader) {
      const own = readers.get(reader) ?? 0;
      if (own >= ofReader) throw refuse(ofReader);
      if (all >= inAll) throw refuse(inAll);
      readers.set(reader, own + 1);
      all++;
      return () => {
        all--;
        const left = (readers.get(reader) ?? 1) - 1;
        if (left === 0) readers.delete(reader);
        else readers.set(reader, left);
      };
    },
  };
}
