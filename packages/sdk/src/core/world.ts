/** What the client takes from the world around it. */
export interface World {
  readonly performance: { readonly now: () => number };
  readonly setTimeout: (run: () => void, ms: number) => unknown;
  readonly clearTimeout: (id: never) => void;
  readonly Math: { readonly random: () => number };
  readonly crypto: { readonly randomUUID: () => string };
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Where there is one, the world is a browser's. */
  readonly document?: unknown;
}

/** Under this key an option may carry another world. For tests: it is not exported from the package. */
export const WORLD: unique symbol = Symbol("world");
