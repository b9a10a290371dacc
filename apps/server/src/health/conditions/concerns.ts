/**
 * What an operator should look into although requests are answered, such as a worker that is not running. `/readyz` lists
 * concerns on both ports and stays 200: taking this process out of service would help nobody.
 */
export interface Concerns {
  /** @param text undefined: the concern is over */
  set(name: string, text: string | undefined): void;
  list(): readonly string[];
}

export function createConcerns(): Concerns {
  const texts = new Map<string, string>();
  return {
    set(name, text) {
      if (text === undefined) texts.delete(name);
      else texts.set(name, text);
    },
    list: () => [...texts.values()],
  };
}

/** The concerns that `/readyz` lists beside a 200. A full disk is one: everything can still be read, on every process alike. */
export function concernsOf(parts: {
  readonly concerns: Concerns;
  readonly conditions: { isOngoing(name: string): boolean };
  readonly outages: { isHolding(): boolean };
}): string[] {
  const { concerns, conditions, outages } = parts;
  const isFull = conditions.isOngoing("disk_full");
  return [
    ...(outages.isHolding() ? ["the database is away for a moment: requests wait for it"] : []),
    ...(isFull ? ["the disk of the database is full: nothing can be stored until there is room"] : []),
    ...concerns.list(),
  ];
}
