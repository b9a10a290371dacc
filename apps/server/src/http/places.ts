import type { ServiceError } from "@bikeshare/rules";

/** How many may be taken at once, and how one more is refused. */
interface PlacesOptions {
  readonly ofReader: number;
  readonly inAll: number;
  /** @param limit the number that is reached */
  readonly refuse: (limit: number) => ServiceError;
}

/** Places for answers that hold memory for as long as their readers take. */
export interface Places {
  /** Takes a place. @throws ServiceError when the reader has taken all of its own, or all are taken @returns gives it back */
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
