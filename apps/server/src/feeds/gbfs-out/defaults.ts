/** The earliest instant that GBFS 2.3 lets a feed name: 15 December 2015, before which there was no GBFS. */
export const EARLIEST_MS = 1_450_155_600_000;

/** GBFS 3.0 requires an address. Mail to this one cannot be sent (RFC 2606), so it cannot be mistaken for a real one. */
export const NO_ADDRESS = "unknown@example.invalid";

/** The type of vehicles without one: GBFS itself takes a vehicle without a type for a plain bicycle. */
export const UNSPECIFIED = "unspecified";
