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
