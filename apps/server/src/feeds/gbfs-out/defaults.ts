/** The earliest instant that GBFS 2.3 accepts in a feed: 15 December 2015. GBFS did not exist before. */
export const EARLIEST_MS = 1_450_155_600_000;

/**
 * The mail address of a system that gives none, because GBFS 3.0 requires one. The domain is reserved (RFC 2606), so nobody
 * mistakes the address for a real one.
 */
export const NO_ADDRESS = "unknown@example.invalid";

/** The id of the vehicle type of vehicles without a type. GBFS treats such vehicles as plain bicycles. */
export const UNSPECIFIED = "unspecified";
