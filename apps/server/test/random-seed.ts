import fc from "fast-check";

/**
 * Runs before each test file. A fixed seed, so that a failure of a random test can be repeated on another machine.
 * `TEST_SEED` sets another one.
 */
fc.configureGlobal({ seed: Number(process.env["TEST_SEED"] ?? 1) });
