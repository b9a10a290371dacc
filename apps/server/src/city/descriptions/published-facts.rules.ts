import type { FactKind, FactsOf } from "@bikeshare/contract";

/** Who gives a fact. */
type FactSource = "operator" | "source" | "default";

/** What is known of one thing: of each fact the operator's value, else that of the first source, else a default. */
export interface Described<Kind extends FactKind = FactKind> {
  /** The operator's id; empty: there is one of its kind. */
  readonly id: string;
  readonly published: FactsOf<Kind>;
  /** What the operator has set. */
  readonly own: FactsOf<Kind>;
  readonly from: { readonly [Name in keyof FactsOf<Kind>]?: FactSource };
}

type Values = Readonly<Record<string, unknown>>;

/** Merges what is said of one thing. @param said by sources, the first source first */
export function mergeFacts<Kind extends FactKind>(
  id: string,
  own: FactsOf<Kind> | undefined,
  said: readonly FactsOf<Kind>[],
  defaults?: FactsOf<Kind>,
): Described<Kind> {
  const levels: readonly (readonly [FactSource, Values])[] = [
    ["operator", own ?? {}],
    ...said.map((values) => ["source", values] as const),
    ["default", defaults ?? {}],
  ];
  const published: Record<string, unknown> = {};
  const from: Record<string, FactSource> = {};
  // A level later in the list gives what none before it gives, fields included that only sources have.
  for (const [source, values] of levels) {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined || name in published) continue;
      published[name] = value;
      from[name] = source;
    }
  }
  return { id, published, own: own ?? {}, from } as Described<Kind>;
}

/** Returns a text in a language, else in the first there is; null where there is none. */
export function textIn(
  texts: readonly { readonly text: string; readonly language: string }[] | undefined,
  language: string,
): string | null {
  const inLanguage = texts?.find((each) => each.language === language);
  return (inLanguage ?? texts?.[0])?.text ?? null;
}
