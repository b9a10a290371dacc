import type { ShownExport } from "@bikeshare/contract/console";

/** The kinds of export files in words. */
export const kindNames: Readonly<Record<ShownExport["kind"], string>> = {
  rides: "Rides",
  stations: "Stations",
  station_status: "How stations were",
};

const UNITS = ["bytes", "kB", "MB", "GB", "TB"] as const;

/** Returns a size as `18.2 MB`. */
export function sizeText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toLocaleString("en", { maximumFractionDigits: power === 0 ? 0 : 1 })} ${UNITS[power] ?? ""}`;
}

/** Returns how many rides were left out of a file, by reason: `9,402 under 60 s, 2,018 too rare`. */
export function leftOutText(file: ShownExport["file"]): string {
  const leftOut = file?.left_out;
  if (leftOut === null || leftOut === undefined) return "";
  const { short, ended_by_operator: ended, not_completed: open, rare } = leftOut;
  const parts = [
    [short, "under 60 s"],
    [ended, "ended by staff"],
    [open, "not completed"],
    [rare, "too rare"],
  ] as const;
  const text = parts.filter(([n]) => n > 0).map(([n, what]) => `${n.toLocaleString("en")} ${what}`);
  return text.length === 0 ? "none" : text.join(", ");
}
