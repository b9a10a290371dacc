import { basename } from "node:path";
import { inBinaryUnits } from "../feeds/trips/inputs/input.ts";
import type { TripProgress } from "../feeds/trips/options.ts";
import type { CliContext } from "./context.ts";
import { grouped } from "./import-trips-text.ts";

/** Milliseconds between two progress lines. More often flickers; more rarely looks as if it hung. */
const PROGRESS_EVERY_MS = 200;
/** What must be done before the time left is guessed: milliseconds, and the share of all. */
const GUESS_AFTER_MS = 3_000;
const GUESS_AFTER_SHARE = 0.01;

/** Draws what is being done, how fast, how much of all is done, and how long the rest will take, now and then. */
export function progressLine({ clock, output }: CliContext): (progress: TripProgress) => void {
  const begunAt = clock();
  let drawnAt = begunAt;
  let since = begunAt;
  let shown = "";
  return ({ file, doing, rows, share }) => {
    const at = clock();
    const what = `${doing} ${basename(file)}`;
    // Reading and writing may overlap; the rate is that of the line that is shown.
    if (what !== shown && (rows === 0 || at - drawnAt >= PROGRESS_EVERY_MS)) {
      shown = what;
      since = drawnAt;
    }
    if (what !== shown || at - drawnAt < PROGRESS_EVERY_MS) return;
    drawnAt = at;
    if (doing === "fetching") return output.progress(`${what}: ${inBinaryUnits(rows)}`);
    const rate = Math.round((rows * 1000) / Math.max(1, at - since));
    const done = `${Math.floor(share * 100)} % of all${timeLeft(at - begunAt, share)}`;
    return output.progress(`${done}; ${what}: ${grouped(rows)} rows, ${grouped(rate)} a second`);
  };
}

function timeLeft(elapsed: number, share: number): string {
  if (elapsed < GUESS_AFTER_MS || share < GUESS_AFTER_SHARE) return "";
  const seconds = Math.ceil((elapsed / share - elapsed) / 1000);
  if (seconds < 60) return `, ${seconds} s left`;
  return seconds < 3600
    ? `, ${Math.round(seconds / 60)} min left`
    : `, ${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min left`;
}
