/** What can be exported. */
export const exportKinds = ["rides", "stations", "station_status"] as const;
export type ExportKind = (typeof exportKinds)[number];

/** How much a file reveals about rides, the least first. Each text explains the level to the person who chooses it. */
export const exportPrivacies = {
  coarse:
    "For everybody. Times to 15 minutes, positions to 3 decimals, ride ids made up for the file. Pairs of stations with fewer than 5 rides in the month are merged into their regions, or left out where that is too few.",
  stations:
    "As Citi Bike and others publish: start and end to the second, with station names and positions; ride ids made up for the file.",
  full: "For somebody with a contract: the service's own ride ids, and times to the millisecond. Whoever may read rides can match them.",
} as const;
export type ExportPrivacy = keyof typeof exportPrivacies;

export const exportPrivacyNames = Object.keys(exportPrivacies) as [ExportPrivacy, ...ExportPrivacy[]];

/** The formats of files, with the media type and the ending of each. */
export const exportFormats = {
  csv: { mediaType: "application/gzip", ending: "csv.gz", text: "CSV, gzipped" },
  parquet: { mediaType: "application/vnd.apache.parquet", ending: "parquet", text: "Parquet" },
} as const;
export type ExportFormat = keyof typeof exportFormats;

export const exportFormatNames = Object.keys(exportFormats) as [ExportFormat, ...ExportFormat[]];

/** Minutes to which `coarse` rounds times down. */
export const COARSE_MINUTES = 15;

/** Minimum minutes for which a download link is valid. */
export const DOWNLOAD_LINK_MINUTES = 10;

/** Maximum months for which a schedule keeps each of its files. */
export const MAX_KEEP_MONTHS = 600;

/** A month as it is written in file names: `2026-10`. */
export const EXPORT_MONTH = /^(?:20\d\d)-(?:0[1-9]|1[0-2])$/;
