import type { FactKind, FactsOf } from "@bikeshare/contract";

// A fact is something that GBFS publishes of a thing, such as the name of the system or the price of a plan. The operator
// and sources (feeds) give facts.

/** The origin of a fact. */
type FactOrigin = "operator" | "source" | "default";

/** The facts of one thing. Each is the operator's value, else the first source's, else a default. */
export interface Described<Kind extends FactKind = FactKind> {
  /** The operator's id; empty for a kind that a system has once. */
  readonly id: string;
  readonly published: FactsOf<Kind>;
  /** The facts that the operator has set. */
  readonly own: FactsOf<Kind>;
  /** The origin of each published fact. */
  readonly from: { readonly [Name in keyof FactsOf<Kind>]?: FactOrigin };
}

/** Values of facts by name. */
type Values = Readonly<Record<string, unknown>>;

/**
 * Merges the operator's facts, the sources' facts and the defaults of one thing.
 * @param said the sources' facts, the first source first
 */
export function mergeFacts<Kind extends FactKind>(
  id: string,
  own: FactsOf<Kind> | undefined,
  said: readonly FactsOf<Kind>[],
  defaults?: FactsOf<Kind>,
): Described<Kind> {
  const levels: readonly (readonly [FactOrigin, Values])[] = [
    ["operator", own ?? {}],
    ...said.map((values) => ["source", values] as const),
    ["default", defaults ?? {}],
  ];
  const published: Record<string, unknown> = {};
  const from: Record<string, FactOrigin> = {};
  // Each level adds the facts that no earlier level has, including fields that only sources have.
  for (const [origin, values] of levels) {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined || name in published) continue;
      published[name] = value;
      from[name] = origin;
    }
  }
  return { id, published, own: own ?? {}, from } as Described<Kind>;
}

/** Returns a text in a language, else the first text; null: there is none. */
export function textIn(
  texts: readonly { readonly text: string; readonly language: string }[] | undefined,
  language: string,
): string | null {
  const inLanguage = texts?.find((each) => each.language === language);
  return (inLanguage ?? texts?.[0])?.text ?? null;
}
