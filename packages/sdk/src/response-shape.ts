/**
 * The expected shape of a response, or of a part of a response. Shapes are generated from the contract, and validate.ts
 * compares responses with them.
 */
export type ResponseShape =
  | "string"
  /** RFC 3339 in UTC. */
  | "timestamp"
  | "number"
  | "integer"
  | "boolean"
  | { readonly nullable: ResponseShape }
  | { readonly optional: ResponseShape }
  | { readonly items: ResponseShape }
  | { readonly properties: Readonly<Record<string, ResponseShape>> }
  /** Variants by the value of a field. An unknown variant may be anything. */
  | { readonly discriminator: string; readonly variants: Readonly<Record<string, ResponseShape>> };
