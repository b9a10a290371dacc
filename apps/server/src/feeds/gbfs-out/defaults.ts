/** The earliest instant that GBFS 2.3 lets a feed name: 15 December 2015, before which there was no GBFS. */
export const EARLIEST_MS = 1_450_155_600_000;

/**
 * GBFS 3.0 requires a mail address. This domain is reserved (RFC 2606), so nobody mistakes the address for a real one.
 */
export const NO_ADDRESS = "unknown@example.invalid";

/** The type of vehicles without one. GBFS itself treats such vehicles as plain bicycles. */
export const UNSPECIFIED = "unspecified";
