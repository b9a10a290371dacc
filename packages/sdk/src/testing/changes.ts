/* How a fake answers `changes_since`: it gives each change of an item a position, and lists the items after a position. */

/** An item as it was last seen in a list, and the position of its last change. */
interface SeenItem {
  readonly json: string;
  readonly position: number;
}

/** The order in which items of lists have changed. */
export type ChangeLog = ReturnType<typeof createChangeLog>;

/** Creates a log. It finds changes by comparing a list with its state at the previous call of `observe`. */
export function createChangeLog() {
  const lists = new Map<string, Map<string, SeenItem>>();
  let newest = 0;
  return {
    /**
     * Records what has changed in a list since the last call.
     *
     * @param list the list's name, with its owner
     * @returns the position of the newest change in any list, and a function for the position of an item by its id
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
