import { expect, test } from "vitest";
import { type FactName, factRules, systemDetails } from "./facts.rules.ts";

test.each<[FactName, string, string]>([
  ["timezone", "europe/oslo", "Europe/Oslo"],
  ["timezone", "UTC", "UTC"],
  ["language", "nb_no", "nb-NO"],
  ["language", "zh-Hant-TW", "zh-TW"],
  ["feed_contact_email", " feeds@bikes.example ", "feeds@bikes.example"],
  ["url", "https://bikes.example", "https://bikes.example/"],
  ["licence", "cc-by-4.0", "CC-BY-4.0"],
  ["licence", "https://bikes.example/licence", "https://bikes.example/licence"],
  ["name", " Bysykkel Ø ", "Bysykkel Ø"],
])("%s may be %j", (name, text, read) => {
  expect(factRules[name].read(text)).toBe(read);
});

test.each<[FactName, string]>([
  ["timezone", "+01:00"],
  ["timezone", "EST"],
  ["timezone", "Europe/Atlantis"],
  ["language", "english"],
  ["language", "e"],
  ["feed_contact_email", "nobody"],
  ["url", "bikes.example"],
  ["url", "ftp://bikes.example"],
  ["url", "https://me:secret@bikes.example"],
  ["licence", "CC-BY-5.0"],
  ["name", "two\nlines"],
  ["name", " "],
  ["operator", "x".repeat(256)],
])("%s cannot be %j", (name, text) => {
  expect(factRules[name].read(text)).toBeUndefined();
});

const silent = {
  system_id: "oslo",
  name: null,
  language: null,
  timezone: null,
  feed_contact_email: null,
  opening_hours: null,
  operator: null,
  url: null,
  licence: null,
};
const said = (name: string) => ({
  feed: "system_information" as const,
  content: { name, language: "no", timezone: "Europe/Oslo", feed_contact_email: null, opening_hours: null },
});

test("the operator's word goes before a source's, a source's before the default", () => {
  expect(systemDetails(silent, [])).toMatchObject({
    name: "oslo",
    language: "en",
    timezone: "UTC",
    opening_hours: "24/7",
    feed_contact_email: null,
    licence: null,
  });
  expect(systemDetails(silent, [said("A"), said("B")])).toMatchObject({
    name: "A",
    language: "no",
    timezone: "Europe/Oslo",
  });
  const named = { ...silent, name: "Bysykkel", language: "nb-NO" };
  expect(systemDetails(named, [said("A")])).toMatchObject({
    name: "Bysykkel",
    language: "nb-NO",
    timezone: "Europe/Oslo",
  });
});

test("a word that GBFS does not know counts as not said", () => {
  const wrong = { ...silent, timezone: "+01:00", language: "english", feed_contact_email: "nobody", url: "no url" };
  expect(systemDetails(wrong, [said("A")])).toMatchObject({
    language: "no",
    timezone: "Europe/Oslo",
    feed_contact_email: null,
    url: null,
  });
});

test("what nobody said is missing, whether a default stands in for it or not", () => {
  expect(systemDetails(silent, []).missing).toEqual(["name", "timezone", "language", "feed_contact_email"]);
  expect(systemDetails(silent, [said("A")]).missing).toEqual(["feed_contact_email"]);
  expect(systemDetails({ ...silent, feed_contact_email: "feeds@bikes.example" }, [said("A")]).missing).toEqual([]);
});
