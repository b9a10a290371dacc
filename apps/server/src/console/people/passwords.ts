import { serviceError } from "@bikeshare/rules";

/**
 * Hashes passwords with argon2id. `by` names who asks: a network, or a signed-in person. The waiting requests of each are
 * limited, so that others do not wait for them.
 */
export interface PasswordHashing {
  hash(password: string, by: string): Promise<string>;
  /**
   * Tells whether a password is right. Takes equally long without a hash, so that the duration does not reveal who has a
   * password.
   */
  verify(hash: string | null, password: string, by: string): Promise<boolean>;
}

/** The parameters that OWASP recommends: 19 MiB of memory and two passes. An attacker pays the same for each guess. */
const ARGON2_OPTIONS = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };
/**
 * The hash to verify against when an account has none: made with the same options from a random password that was
 * discarded.
 */
const HASH_OF_NOBODY =
  "$argon2id$v=19$m=19456,t=2,p=1$xKy37I8pAk59YPu0Qmt07g$XYavq2ITl0mpyLyCWi1W6wPlT1VNH2fFkoGv09NUo4Y";
/** Maximum passwords that are hashed at the same time. Each takes 19 MiB and one processor core. */
const MAX_RUNNING = 2;
/**
 * Maximum passwords that wait for a free slot, for about a second. Too low: refuses people. Too high: programs that guess
 * passwords fill the queue.
 */
const MAX_WAITING = 50;
/** Limits the waiting passwords of one network or person: a person waits for one, and only a program for many. */
const MAX_WAITING_EACH = 2;
/** Seconds after which a client that was refused should try again. */
const RETRY_SECONDS = 2;

export function createPasswordHashing(): PasswordHashing {
  const whenFree = createSemaphore();
  // Loaded with the first password: many services see none.
  const load = () => import("@node-rs/argon2");
  const hash = async (password: string, by: string) => {
    const argon2 = await load();
    return whenFree(by, () => argon2.hash(normalized(password), ARGON2_OPTIONS));
  };
  return {
    hash,
    async verify(stored, password, by) {
      const argon2 = await load();
      const isRight = await whenFree(by, () => argon2.verify(stored ?? HASH_OF_NOBODY, normalized(password)));
      return isRight && stored !== null;
    },
  };
}

/** Returns the same text for a password that different keyboards send as different code points. */
function normalized(password: string): string {
  return password.normalize("NFKC");
}

/**
 * Runs at most MAX_RUNNING pieces of work at a time.
 * @throws ServiceError `unavailable` when too many wait, in all or for one `by`
 */
function createSemaphore() {
  let running = 0;
  const waiting: { readonly by: string; readonly start: () => void }[] = [];
  return async <Result>(by: string, work: () => Promise<Result>): Promise<Result> => {
    if (running >= MAX_RUNNING) {
      const own = waiting.filter((one) => one.by === by);
      if (waiting.length >= MAX_WAITING || own.length >= MAX_WAITING_EACH)
        throw serviceError("unavailable", "signIns", { retryAfterSeconds: RETRY_SECONDS });
      const { promise, resolve: start } = Promise.withResolvers<void>();
      waiting.push({ by, start });
      await promise;
    } else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // The next work takes over this slot, so `running` stays the same.
      if (next === undefined) running--;
      else next.start();
    }
  };
}
