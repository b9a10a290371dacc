/**
 * Stations that a source may have in all, those that are gone or wait for their other feed included: their ids are kept for
 * good. The largest sources have some thousand; without a bound, one that names others in every snapshot fills the disk.
 */
const MAX_STATIONS = 50_000;

/** A source names more stations than it may have. */
class TooManyStationsError extends Error {
  override readonly name = "TooManyStationsError";
  /** A known cause, whose message says what to do; see conditions/failure.ts. */
  readonly condition = "gbfs_too_many_stations";

  constructor(source: string, { known, added, most }: { known: number; added: number; most: number }) {
    super(
      `The source "${source}" has ${known} stations, and this snapshot names ${added} others; it may have ${most} in all. ` +
        `Nothing was changed. Does it give its stations new ids (station_id) each time?`,
    );
  }
}

interface Extent {
  /** Stations that the source has. */
  readonly known: number;
  /** Stations that a snapshot adds to them. */
  readonly added: number;
  readonly most?: number | undefined;
}

/** @throws TooManyStationsError when a snapshot adds stations beyond those that its source may have */
export function refuseTooMany(source: string, { known, added, most = MAX_STATIONS }: Extent): void {
  if (added > 0 && known + added > most) throw new TooManyStationsError(source, { known, added, most });
}
