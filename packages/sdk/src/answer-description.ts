/** What an answer, or a part of it, must be. */
export type Answer =
  | "text"
  /** RFC 3339 in UTC. */
  | "instant"
  | "number"
  | "whole number"
  | "boolean"
  | { readonly orNull: Answer }
  | { readonly optional: Answer }
  | { readonly list: Answer }
  | { readonly fields: Readonly<Record<string, Answer>> }
  /** Told apart by a field. A kind that is not known may be anything. */
  | { readonly by: string; readonly kinds: Readonly<Record<string, Answer>> };
