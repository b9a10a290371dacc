/** Where random identifiers come from. Enters at main.ts; tests bring their own. */
export interface Ids {
  /** A new identifier, `<prefix>_` and random characters that sort by time of making. */
  next(prefix: string): string;
  /** `bytes` random bytes fit for secrets. */
  randomBytes(bytes: number): Uint8Array;
  /** A number from 0 up to 1, not for secrets. */
  random(): number;
}
