import {
  type Alert,
  type alertFields,
  alertTypes,
  type AlertUpsert,
  type LocalText,
  type OperatorAlert,
  type ValueOf,
} from "@bikeshare/contract";
import { timeOfChange } from "@bikeshare/rules";

/*
 * Decides how alerts for riders open, change and end, and converts them between a feed or request, the stored form and what
 * readers get. Texts are in GBFS's canonical form: one text for each language.
 */

/** An alert in GBFS's canonical form. */
export type AlertRecord = ValueOf<typeof alertFields>;

/** The content of an alert in GBFS's canonical form, without unknown fields. */
export interface AlertContent extends Pick<
  AlertRecord,
  "description" | "url" | "times" | "station_ids" | "region_ids" | "last_updated"
> {
  readonly summary: readonly LocalText[];
}

/** A stored alert. */
export interface StoredAlert {
  readonly id: string;
  /** `operator`, or the name of a feed. */
  readonly source: string;
  readonly type: Alert["type"];
  readonly content: AlertContent;
  readonly opened_at: Date;
  /** When the alert will end by the clock; null: not by the clock. */
  readonly ends_at: Date | null;
  /** The stored end; null although `ends_at` is past: the end is not stored yet. */
  readonly ended_at: Date | null;
  readonly updated_at: Date;
  /** The station whose closure the alert announces; null: it was not opened by taking a station offline. */
  readonly closes_station: string | null;
}

/**
 * Maximum alerts of a source. Alerts beyond it, in the order of their ids, are ignored. Too high: one feed floods the
 * events.
 */
export const MAX_SOURCE_ALERTS = 1_000;
/**
 * Maximum alerts that a source may add in a day. Too low: ignores alerts of a day with many disruptions. Too high: a feed
 * that gives its alerts new ids at each poll fills the table for as long as past alerts are kept.
 */
export const MAX_NEW_ALERTS_A_DAY = 3_000;
/**
 * Minimum time for which an alert of a feed is open, unless its times end earlier. Too low: a feed whose servers
 * disagree about an alert opens and ends it with each poll. Too high: shows riders an alert that was withdrawn.
 */
export const MIN_OPEN_MS = 10 * 60_000;
/**
 * Maximum open alerts of the operator, those of closed stations included. Above it closures still open, but no other alerts.
 * Too low: a system with many closed stations cannot open other alerts.
 */
export const MAX_OPEN_ALERTS = 5_000;

/** Limits of a feed's alert. Too high: a feed inflates the deliveries to partners. */
const FEED_LIMITS = { summary: 1_000, description: 5_000, url: 1_000, languages: 20, ids: 1_000, times: 50 } as const;

/** Returns the end of an alert's last time; null: it has no times, or one that lasts until further notice. */
function endOfTimes(times: AlertContent["times"]): Date | null {
  const ends = (times ?? []).map(({ end }) => (end === undefined ? Number.NaN : Date.parse(end)));
  // NaN stands for a time without an end: one of them makes `last` NaN.
  const last = Math.max(...ends);
  return ends.length === 0 || Number.isNaN(last) ? null : new Date(last);
}

/** Returns the time of an alert's change: `now`, or just after `earlier`, because alerts' events are ordered by time. */
function timeAfter(now: Date, earlier: Date | undefined): Date {
  const isAfter = true;
  return new Date(timeOfChange(now.getTime(), earlier?.getTime(), isAfter));
}

/**
 * Returns an alert as readers see it at an instant: ended by the clock, even if the end is not stored yet. Such an end is
 * never before the alert's last change, which may have moved its times into the past.
 */
export function alertAt(alert: StoredAlert, now: Date): StoredAlert {
  const { ended_at: endedAt, ends_at: endsAt } = alert;
  if (endedAt !== null || endsAt === null || endsAt > now) return alert;
  const end = endsAt < alert.updated_at ? alert.updated_at : endsAt;
  return { ...alert, ended_at: end, updated_at: end };
}

/** Returns an open alert, ended at an instant. */
export function endedAlert(alert: StoredAlert, at: Date): StoredAlert {
  const ended_at = timeAfter(at, alert.updated_at);
  return { ...alert, ended_at, updated_at: ended_at };
}

/** Returns a new, open alert. @param earlier the end of an earlier alert with the same id or about the same closure */
export function newAlert(
  alert: Pick<StoredAlert, "id" | "source" | "type" | "content"> & { readonly closes_station?: string },
  now: Date,
  earlier?: Date | null,
): StoredAlert {
  const ends_at = endOfTimes(alert.content.times);
  const opened_at = timeAfter(now, earlier ?? undefined);
  return { closes_station: null, ...alert, opened_at, ends_at, ended_at: null, updated_at: opened_at };
}

/** Returns an open alert with another type and content, or the same object when nothing differs. */
export function changedAlert(alert: StoredAlert, type: Alert["type"], content: AlertContent, now: Date): StoredAlert {
  const ends_at = endOfTimes(content.times);
  if (alert.type === type && textOf(alert.content) === textOf(content)) {
    // `withdrawnAlert` may have given the alert an end, and the feed lists it again before that. Readers see no change.
    return alert.ends_at?.getTime() === ends_at?.getTime() ? alert : { ...alert, ends_at };
  }
  return { ...alert, type, content, ends_at, updated_at: timeAfter(now, alert.updated_at) };
}

/**
 * Returns an open alert that its feed no longer lists. The alert is ended, or, if it has not been open for MIN_OPEN_MS,
 * gets an end at that time.
 */
export function withdrawnAlert(alert: StoredAlert, now: Date): StoredAlert {
  const shown = alertAt(alert, now);
  if (shown.ended_at !== null) return shown;
  const earliest = new Date(alert.opened_at.getTime() + MIN_OPEN_MS);
  if (earliest <= now) return endedAlert(alert, now);
  return alert.ends_at !== null && alert.ends_at <= earliest ? alert : { ...alert, ends_at: earliest };
}

/** Returns a content's JSON, which is equal for equal contents. */
function textOf(content: AlertContent): string {
  return JSON.stringify(contentOf(content));
}

/** Returns a content with its fields in a fixed order, without empty ones. */
function contentOf(fields: AlertContent): AlertContent {
  const { summary, description, url, times = [], station_ids: stations = [], region_ids: regions = [] } = fields;
  return {
    summary: textsOf(summary),
    ...(description !== undefined && { description: textsOf(description) }),
    ...(url !== undefined && { url: textsOf(url) }),
    ...(times.length > 0 && {
      times: times.map(({ start, end }) => ({
        ...(start !== undefined && { start }),
        ...(end !== undefined && { end }),
      })),
    }),
    ...(stations.length > 0 && { station_ids: [...new Set(stations)] }),
    ...(regions.length > 0 && { region_ids: [...new Set(regions)] }),
    ...(fields.last_updated !== undefined && { last_updated: fields.last_updated }),
  };
}

/** Returns texts without unknown fields. */
function textsOf(texts: readonly LocalText[]): LocalText[] {
  return texts.map(({ text, language }) => ({ text, language }));
}

/** A text of a request: a string in the system's main language, or one string for each of several languages. */
type GivenText = NonNullable<AlertUpsert["summary"]>;

/** Converts a text of a request to canonical form. */
export function canonicalTexts(given: GivenText, language: string): LocalText[] {
  return typeof given === "string" ? [{ text: given, language }] : textsOf(given);
}

/**
 * Merges an item of the operator into an alert's content. Omitted fields keep their value.
 * @returns undefined when the result has no summary
 */
export function mergedContent(
  held: AlertContent | undefined,
  item: AlertUpsert,
  language: string,
): AlertContent | undefined {
  const text = (given: GivenText | null | undefined, before: readonly LocalText[] | undefined) => {
    if (given === undefined) return before;
    return given === null ? undefined : canonicalTexts(given, language);
  };
  const summary = text(item.summary, held?.summary);
  if (summary === undefined) return undefined;
  const description = text(item.description, held?.description);
  const url = text(item.url, held?.url);
  return contentOf({
    summary,
    ...(description !== undefined && { description }),
    ...(url !== undefined && { url }),
    times: item.times?.map(({ start, end }) => canonicalTime(start, end)) ?? held?.times ?? [],
    station_ids: item.station_ids ?? held?.station_ids ?? [],
    region_ids: item.region_ids ?? held?.region_ids ?? [],
  });
}

/** Returns a period with its instants in UTC. An absent start or end has no bound. */
function canonicalTime(start: string | undefined, end: string | undefined) {
  return {
    ...(start !== undefined && { start: new Date(start).toISOString() }),
    ...(end !== undefined && { end: new Date(end).toISOString() }),
  };
}

/** An alert of a feed that can be stored. */
export interface FeedAlert {
  readonly id: string;
  readonly type: Alert["type"];
  readonly content: AlertContent;
}

/** Returns a feed's alert within FEED_LIMITS; undefined when it has no id or no summary. */
export function feedAlert(record: AlertRecord): FeedAlert | undefined {
  const { alert_id: id, type = "other", summary, description, url, times, last_updated: updated } = record;
  const bounded = (texts: readonly LocalText[] | undefined, limit: number) =>
    texts
      ?.filter(({ text }) => text !== "")
      .slice(0, FEED_LIMITS.languages)
      .map(({ text, language }) => ({ text: shortened(text, limit), language }));
  const summaries = bounded(summary, FEED_LIMITS.summary) ?? [];
  if (id === undefined || id === "" || summaries.length === 0) return undefined;
  const descriptions = bounded(description, FEED_LIMITS.description) ?? [];
  const urls = bounded(url, FEED_LIMITS.url) ?? [];
  const content = contentOf({
    summary: summaries,
    ...(descriptions.length > 0 && { description: descriptions }),
    ...(urls.length > 0 && { url: urls }),
    times: (times ?? [])
      .slice(0, FEED_LIMITS.times)
      .filter(isTime)
      .map(({ start, end }) => canonicalTime(start, end)),
    station_ids: (record.station_ids ?? []).slice(0, FEED_LIMITS.ids),
    region_ids: (record.region_ids ?? []).slice(0, FEED_LIMITS.ids),
    ...(updated !== undefined && isInstant(updated) && { last_updated: updated }),
  });
  return { id, type: alertTypes.find((known) => known === type) ?? "other", content };
}

/** Tells whether a feed's period can be read. */
function isTime({ start, end }: NonNullable<AlertContent["times"]>[number]): boolean {
  return (start === undefined || isInstant(start)) && (end === undefined || isInstant(end));
}

function isInstant(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}

/** Returns a text of at most `limit` characters. */
function shortened(text: string, limit: number): string {
  // Does not cut a surrogate pair.
  return text.length <= limit ? text : `${text.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** Returns a text in a language, else in a variant of the language, else the first text. */
function plainText(texts: readonly LocalText[] | undefined, language: string): string | null {
  const base = (tag: string) => tag.split("-")[0];
  const found =
    texts?.find((each) => each.language === language) ??
    texts?.find((each) => base(each.language) === base(language)) ??
    texts?.[0];
  return found?.text ?? null;
}

/** Returns the fields that are the same for partners and the operator. */
function sharedFields({ id, type, content, opened_at, ended_at, updated_at }: StoredAlert) {
  const instant = (text: string | undefined) => (text === undefined ? null : new Date(text).toISOString());
  return {
    id,
    type,
    times: (content.times ?? []).map(({ start, end }) => ({ start: instant(start), end: instant(end) })),
    station_ids: [...(content.station_ids ?? [])],
    region_ids: [...(content.region_ids ?? [])],
    opened_at: opened_at.toISOString(),
    ended_at: ended_at?.toISOString() ?? null,
    updated_at: updated_at.toISOString(),
  };
}

/** Returns an alert as partners see it. @param language the system's main language */
export function partnersAlert(alert: StoredAlert, language: string): Alert {
  const { summary, description, url } = alert.content;
  const { id, type, ...rest } = sharedFields(alert);
  return {
    id,
    type,
    summary: plainText(summary, language) ?? "",
    description: plainText(description, language),
    url: plainText(url, language),
    ...rest,
  };
}

/** Returns an alert as the operator sees it. */
export function operatorsAlert(alert: StoredAlert): OperatorAlert {
  const { summary, description, url } = alert.content;
  const { id, type, ...rest } = sharedFields(alert);
  const texts = (all: readonly LocalText[] | undefined) => (all === undefined ? null : textsOf(all));
  const { source, closes_station } = alert;
  return {
    id,
    source,
    type,
    summary: textsOf(summary),
    description: texts(description),
    url: texts(url),
    ...rest,
    closes_station,
  };
}

/** Returns an alert in GBFS's canonical form. */
export function gbfsAlert({ id, type, content, updated_at: updatedAt }: StoredAlert): AlertRecord {
  return { alert_id: id, type, last_updated: updatedAt.toISOString(), ...contentOf(content) };
}
