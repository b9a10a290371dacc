/** How much of refused requests is kept. */

/** Bytes of one caller's details that may be kept at once, and in a second on the average: 16 MiB a day. */
const CALLER_BURST_BYTES = 1_048_576;
const CALLER_BYTES_PER_SECOND = 194;
/** The same for all callers of this process together: 512 MiB a day. */
const TOTAL_BURST_BYTES = 33_554_432;
const TOTAL_BYTES_PER_SECOND = 6_214;

/** Decides whether the details of a refused request are kept. */
export interface DetailBudget {
  /**
   * @param caller whose request it is: all keys of a partner share their part
   * @param at milliseconds since 1970
   * @returns false: the caller, or all together, have used their part up
   */
  take(caller: string, bytes: number, at: number): boolean;
}

interface Bucket {
  bytes: number;
  at: number;
}

/** A part that refills by itself: a caller that errs without end has some of its errors kept, and not none. */
export function createDetailBudget(): DetailBudget {
  const callers = new Map<string, Bucket>();
  const total: Bucket = { bytes: TOTAL_BURST_BYTES, at: 0 };
  return {
    take(caller, bytes, at) {
      const own = callers.get(caller) ?? { bytes: CALLER_BURST_BYTES, at };
      callers.set(caller, own);
      refill(own, at, CALLER_BYTES_PER_SECOND, CALLER_BURST_BYTES);
      refill(total, at, TOTAL_BYTES_PER_SECOND, TOTAL_BURST_BYTES);
      if (own.bytes < bytes || total.bytes < bytes) return false;
      own.bytes -= bytes;
      total.bytes -= bytes;
      return true;
    },
  };
}

function refill(bucket: Bucket, at: number, perSecond: number, most: number): void {
  const passed = Math.max(0, at - bucket.at) / 1_000;
  bucket.bytes = Math.min(most, bucket.bytes + passed * perSecond);
  bucket.at = Math.max(bucket.at, at);
}
