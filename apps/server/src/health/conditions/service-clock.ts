/**
 * The time as all processes of a deployment have it: the machine's while that agrees with the database's, otherwise the
 * database's. So a machine whose clock is wrong, or is set while the service runs, ends no hold and no key early or late,
 * and sends webhooks when they are due. Between two comparisons time goes on by a clock that nobody sets.
 */
export interface ServiceClock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Takes over a comparison with the database's clock. @returns by how many milliseconds, at least, the machine's differs */
  follow(read: DatabaseTime): number;
  /** Whether somebody has set the machine's clock since it was last followed. */
  wasSet(): boolean;
}

/** A reading of the database's clock, and the instants of the monotonic clock between which it was taken. */
interface DatabaseTime {
  readonly at: number;
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** The largest difference that is ignored: NTP leaves less between two machines, and less affects nothing in the service. */
export const MAX_DIFFERENCE_MS = 2_000;

/**
 * @param machine the machine's clock, in milliseconds since 1970
 * @param monotonic milliseconds of a clock that nobody sets
 */
export function createServiceClock(machine: () => number, monotonic: () => number): ServiceClock {
  const machineOffset = () => machine() - monotonic();
  let followed = machineOffset();
  let offset = followed;
  return {
    now: () => Math.floor(monotonic() + offset),
    follow({ at, askedAt, answeredAt }) {
      followed = machineOffset();
      const [earliest, latest] = [at - answeredAt, at - askedAt];
      const differenceMs = Math.max(0, earliest - followed, followed - latest);
      // By the least that agrees with the database, so that time hardly moves from one comparison to the next.
      if (differenceMs > MAX_DIFFERENCE_MS) offset = Math.min(Math.max(offset, earliest), latest);
      else offset = followed;
      return differenceMs;
    },
    wasSet: () => Math.abs(machineOffset() - followed) > MAX_DIFFERENCE_MS,
  };
}
