/**
 * What an operator should look at although requests are answered, such as a process that is missing. `/readyz` tells
 * them, on both ports, and stays 200: taking this process out would help nobody.
 */
export interface Concerns {
  /** @param text undefined: there is nothing any more */
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
