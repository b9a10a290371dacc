import type { Scope } from "../wire.generated.ts";

/** What a single value must be, in the words of JSON Schema. */
export interface Rule {
  readonly type: "string" | "integer";
  readonly enum?: readonly string[];
  readonly format?: "date-time";
  /** A regular expression. */
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Values by name. */
export type Rules = Readonly<Record<string, Rule>>;

/** An endpoint as the fake must know it; made from the contract. */
export interface Endpoint {
  /** `any`: every key; `none`: no key. */
  readonly scope: Scope | "any" | "none";
  readonly path: Rules;
  readonly query: Rules;
  /** Names in lower case. */
  readonly headers: Rules;
  readonly body?: Rules;
}
