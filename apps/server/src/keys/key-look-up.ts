/** A look-up that waits for the next statement. */
interface Waiting<Key, Found> {
  readonly key: Key;
  readonly resolve: (found: Found | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Keys in one statement at most: what one round trip carries without holding up others. */
const MAX_BATCH = 500;

/**
 * Looks up one at a time what is looked up in batches: while a statement runs, those who come wait for the next one, which
 * asks for all of them together. However many unknown keys are tried, one statement at a time is at work on them, and
 * a good key among them waits no longer than two of those: nobody has to be turned away to keep the database free.
 * @param findAll gives for each key what was found, in the order of the keys
 */
export function lookUpTogether<Key, Found>(
  findAll: (keys: readonly Key[]) => Promise<readonly (Found | undefined)[]>,
): (key: Key) => Promise<Found | undefined> {
  let waiting: Waiting<Key, Found>[] = [];
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      try {
        const found = await findAll(batch.map(({ key }) => key));
        for (const [index, { resolve }] of batch.entries()) resolve(found[index]);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = undefined;
  }
  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      running ??= run();
    });
}
