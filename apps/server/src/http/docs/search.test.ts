import { expect, it } from "vitest";
import { createSearch, type SearchEntry } from "./guides.ts";

const entry = (title: string, text: string): SearchEntry => ({ title, within: "Guide", address: `/${title}`, text });
const entries = [
  entry("Errors", "Every signature has a code. A signature, a signature."),
  entry("Signatures", "How to verify."),
  entry("Rides", "Nothing of it."),
];

it("finds what has every word, whatever its case, and first what has them in its title", () => {
  const found = (query: string) => createSearch(entries)(query).map(({ title }) => title);
  expect(found("signature")).toEqual(["Signatures", "Errors"]);
  expect(found("CODE signature")).toEqual(["Errors"]);
  expect(found("signature rides")).toEqual([]);
  expect(found("  ")).toEqual([]);
});

it("counts a word that is repeated once", () => {
  const tied = [entry("Two", "one"), entry("One", "two")];
  expect(createSearch(tied)("one one one two").map(({ title }) => title)).toEqual(["Two", "One"]);
});

it("looks for eight words, so that nobody makes a search cost much more than another", () => {
  const letters = [entry("Letters", "a b c d e f g h")];
  expect(createSearch(letters)("a b c d e f g h x y")).toHaveLength(1);
  expect(createSearch(letters)("a b c d e f g x h y")).toEqual([]);
});

it("shows the words around the first match", () => {
  const long = entry("Long", `${"word ".repeat(200)}needle ${"word ".repeat(200)}`);
  const [{ excerpt } = { excerpt: "" }] = createSearch([long])("needle");
  expect(excerpt).toMatch(/^… (word )+needle (word )+…$/);
  expect(excerpt.length).toBeLessThan(200);
});

it("shows the beginning of a text if the words are only in its title, or in where it is", () => {
  const search = createSearch([entry("Long", `Beginning ${"word ".repeat(200)}end`)]);
  for (const query of ["long", "guide"])
    expect(search(query).map(({ excerpt }) => excerpt)).toEqual([expect.stringMatching(/^Beginning (word )+…$/)]);
});
