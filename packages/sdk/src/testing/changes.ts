/** An item as it was last seen in a list, and the position at which it became so. */
interface SeenItem {
  readonly json: string;
  readonly position: number;
}

/** In which order the items of lists have changed. */
export type ChangeLog = ReturnType<typeof createChangeLog>;

/** Whoever asks for changes has the list compared with what it was when somebody last asked. */
export function createChangeLog() {
  const lists = new Map<string, Map<string, SeenItem>>();
  let newest = 0;
  return {
    /**
     * Notes what has changed in a list.
     *
     * @param list its name, and whose it is
     * @returns the position of the newest change, of any list, and of each item by its id
     */
    observe(list: string, items: readonly { readonly id: string }[]) {
      const seen = lists.get(list) ?? new Map<string, SeenItem>();
      lists.set(list, seen);
      for (const item of items) {
        const json = JSON.stringify(item);
        if (seen.get(item.id)?.json !== json) seen.set(item.id, { json, position: ++newest });
      }
      return { newest, positionOf: (id: string) => seen.get(id)?.position ?? 0 };
    },
  };
}
