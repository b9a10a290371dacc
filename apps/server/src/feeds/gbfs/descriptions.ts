import { formFactor, propulsionType, type Region, type VehicleType } from "@bikeshare/contract";
import { FeedFailure, readFeed, snapshotTime, type Feed, type FeedForm } from "./feed.ts";
import { ProblemLog, shown, type Problem } from "./problems.ts";
import { RecordReader } from "./record-reader.ts";
import { emailFrom, isObject, languageFrom, numberFrom, timeZoneFrom } from "./values.ts";

/** What a source says of its system as a whole; null: nothing, or nothing that can be read. */
interface SystemDescription {
  readonly name: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly feed_contact_email: string | null;
  readonly opening_hours: string | null;
}

/** One document that describes the system, as of its `last_updated` (milliseconds since 1970). */
export type Description = {
  readonly at: number;
  readonly problems: readonly Problem[];
  readonly omittedProblems: number;
} & (
  | {
      readonly feed: "system_information";
      readonly content: SystemDescription;
      /** What the source calls its system; null where it does not say. */
      readonly publishedId: string | null;
    }
  | { readonly feed: "vehicle_types"; readonly content: readonly VehicleType[] }
  | { readonly feed: "system_regions"; readonly content: readonly Region[] }
);

/** Each list is kept whole in one row. */
const MAX_RECORDS = 10_000;

const vehicleTypes: FeedForm<VehicleType> = {
  lists: ["vehicle_types"],
  ids: ["vehicle_type_id"],
  maxRecords: MAX_RECORDS,
  read(reader, id) {
    const range = numberFrom(reader.raw["max_range_meters"]);
    return {
      id,
      name: reader.text("name"),
      // `scooter` is how 2.1 to 2.3 say what is `scooter_standing` since.
      form_factor:
        reader.raw["form_factor"] === "scooter"
          ? "scooter_standing"
          : oneOf(formFactor.options, reader, "form_factor", "other"),
      propulsion_type: oneOf(propulsionType.options, reader, "propulsion_type", "human"),
      max_range_meters: range === undefined || range < 0 ? null : range,
    };
  },
};

const regions: FeedForm<Region> = {
  lists: ["regions"],
  ids: ["region_id"],
  maxRecords: MAX_RECORDS,
  read: (reader, id) => ({ id, name: reader.text("name") ?? id }),
};

/** Reads a document that describes the system. @throws FeedFailure when nothing in it can be used */
export function readDescription(feed: Description["feed"], document: unknown, now: number): Description {
  switch (feed) {
    case "system_information":
      return readSystem(document, now);
    case "vehicle_types":
      return { feed, ...listOf(readFeed(feed, vehicleTypes, document, now)) };
    case "system_regions":
      return { feed, ...listOf(readFeed(feed, regions, document, now)) };
  }
}

function listOf<Content>({ at, problems, omittedProblems, records }: Feed<Content>) {
  // In the order of their ids, so that the same list is the same text.
  const ordered = [...records].sort(([a], [b]) => (a < b ? -1 : 1));
  return { at, problems, omittedProblems, content: ordered.map(([, content]) => content) };
}

function readSystem(document: unknown, now: number): Description {
  const feed = "system_information";
  const data = isObject(document) ? document["data"] : undefined;
  if (!isObject(data)) throw new FeedFailure(feed, "it has no `data`");
  const problems = new ProblemLog();
  const reader = new RecordReader(data, now, (field, reason) => {
    problems.note(() => ({ feed, record: null, field, value: shown(data[field]), reason, action: "repaired" }));
  });
  const read = (field: string, meaning: (value: unknown) => string | undefined, reason: string) => {
    const value = data[field];
    const text = meaning(value);
    if (text === undefined && value !== undefined && value !== null && value !== "") reader.repaired(field, reason);
    return text ?? null;
  };
  const { languages } = data;
  const content = {
    name: reader.text("name"),
    // 3.x lists them, the chief one first.
    language: Array.isArray(languages)
      ? (languageFrom(languages[0]) ?? null)
      : read("language", languageFrom, "not_a_language"),
    timezone: read("timezone", timeZoneFrom, "not_a_time_zone"),
    feed_contact_email: read("feed_contact_email", emailFrom, "not_an_address"),
    opening_hours: reader.text("opening_hours"),
  };
  const at = snapshotTime(feed, document, now, problems);
  const publishedId = reader.identifier("system_id");
  return { feed, content, publishedId, at, problems: problems.kept, omittedProblems: problems.omitted };
}

function oneOf<Word extends string>(words: readonly Word[], reader: RecordReader, field: string, fallback: Word): Word {
  const said = reader.raw[field];
  const word = words.find((known) => known === said);
  if (word === undefined) reader.repaired(field, said === undefined || said === null ? "missing" : "unknown_word");
  return word ?? fallback;
}
