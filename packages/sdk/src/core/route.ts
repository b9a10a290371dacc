/** An endpoint as the client must know it; made from the contract. */
export type Route = readonly [
  /** Method and path: `GET /v1/rides/:id`. */
  operation: string,
  /** The status of its success. */
  success: number,
  /** `idempotent`: it takes an `Idempotency-Key`. `open`: it needs no key and does not count for the limit. */
  kind?: "idempotent" | "open",
];
