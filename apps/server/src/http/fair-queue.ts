/** A queue that serves those who wait in it in turn, however many items each has put in. */
export class FairQueue<Item> {
  /** The items of each owner; the owner whose turn is next comes first. */
  readonly #itemsOf = new Map<string, Item[]>();

  get isEmpty(): boolean {
    return this.#itemsOf.size === 0;
  }

  add(owner: string, item: Item): void {
    const items = this.#itemsOf.get(owner);
    if (items === undefined) this.#itemsOf.set(owner, [item]);
    else items.push(item);
  }

  /** Takes items, one of each owner after the other, as long as their weights add up to `limit` at most; at least one. */
  take(limit: number, weightOf: (item: Item) => number): Item[] {
    const taken: Item[] = [];
    let weight = 0;
    for (;;) {
      const [next] = this.#itemsOf;
      if (next === undefined) return taken;
      const [owner, items] = next;
      const [item] = items;
      if (item === undefined) throw new Error("an owner without items is not kept");
      weight += weightOf(item);
      if (weight > limit && taken.length > 0) return taken;
      taken.push(item);
      items.shift();
      // To the end of those who wait.
      this.#itemsOf.delete(owner);
      if (items.length > 0) this.#itemsOf.set(owner, items);
    }
  }
}
