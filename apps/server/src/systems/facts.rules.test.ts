import { expect, test } from "vitest";
import { type FactName, factRules } from "./facts.rules.ts";

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
