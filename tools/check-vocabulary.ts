// node tools/check-vocabulary.ts [folder or file …]
// Refuses words that the repository has given up (tools/retired-words.ts), timings and sizes without their unit, and
// statements that do not begin with one of the verbs for statements. Prints each with its line; ends with 1 if there is any.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { type TextKind, retiredWords, type RetiredWord } from "./retired-words.ts";

const CHECKED = /\.(ts|tsx|mjs|sql|md|yml|yaml)$|(^|\/)package\.json$/;
/** The given specification, the list of the words itself, generated files, and data. */
const UNCHECKED = /^docs\/specification\.md$|^tools\/retired-words\.ts$|\.generated\.|\/fixtures\/|^pnpm-lock\.yaml$/;

interface Finding {
  readonly file: string;
  readonly line: number;
  readonly found: string;
  readonly say: string;
}

/** One word of a text: `tellStates` holds two. */
interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

interface Passage {
  readonly kind: TextKind;
  readonly text: string;
  /** Where it begins in the file. */
  readonly start: number;
}

const usedExceptions = new Set<string>();
const rules = retiredWords.map((rule) => ({
  ...rule,
  pattern: rule.words.split(" ").map((alternatives) => new Set(alternatives.split("|"))),
}));
type Rule = (typeof rules)[number];

function retiredIn(file: string, text: string): Finding[] {
  const name: Passage = { kind: "code", text: file, start: -1 };
  return [name, ...passagesOf(file, text)].flatMap((passage) => {
    const words = wordsOf(passage.text);
    return rules
      .filter((rule) => rule.in === undefined || rule.in.includes(passage.kind))
      .flatMap((rule) => matchesOf(rule, words, passage))
      .filter(({ rule }) => !isExcepted(rule, file))
      .map(({ rule, start, end }) => ({
        file,
        line: passage.start < 0 ? 1 : lineAt(text, passage.start + start),
        found: passage.text.slice(start, end),
        say: rule.say,
      }));
  });
}

/** What may stand between two words of one term. */
const gapIn: Readonly<Record<TextKind, RegExp>> = {
  code: /^_?$/,
  comment: /^[_ -]?$/,
  text: /^[_ -]?$/,
  prose: /^[_ -]?$/,
};

function matchesOf(rule: Rule, words: readonly Word[], { kind, text }: Passage) {
  return words.flatMap((first, index) => {
    if (!rule.pattern.every((alternatives, offset) => alternatives.has(words[index + offset]?.text ?? ""))) return [];
    const { start } = first;
    const end = words[index + rule.pattern.length - 1]?.end ?? first.end;
    const gaps = rule.pattern
      .slice(1)
      .map((_, gap) => text.slice(words[index + gap]?.end, words[index + gap + 1]?.start));
    if (!gaps.every((gap) => gapIn[kind].test(gap))) return [];
    if (rule.unless?.test(text.slice(Math.max(0, start - 12), end + 12))) return [];
    return [{ rule, start, end }];
  });
}

function isExcepted(rule: RetiredWord, file: string): boolean {
  const path = Object.keys(rule.except ?? {}).find((excepted) =>
    excepted.endsWith("/") ? file.startsWith(excepted) : file === excepted,
  );
  if (path !== undefined) usedExceptions.add(`${rule.words} ${path}`);
  return path !== undefined;
}

/** Words in succession; identifiers are split at capitals and underscores, acronyms stay whole. */
function wordsOf(text: string): Word[] {
  return [...text.matchAll(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g)].map(({ 0: word, index }) => ({
    text: word.toLowerCase(),
    start: index,
    end: index + word.length,
  }));
}

const SCRIPT_PARTS =
  /(\/\*[\s\S]*?\*\/|(?<![\\:])\/\/[^\n]*)|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)/g;

/** What is code, comment and text of a program; other files are one passage. */
function passagesOf(file: string, text: string): Passage[] {
  if (file.endsWith(".sql")) return [{ kind: "text", text, start: 0 }];
  if (!/\.(ts|tsx|mjs)$/.test(file)) return [{ kind: "prose", text, start: 0 }];
  const passages: Passage[] = [];
  let start = 0;
  for (const match of text.matchAll(SCRIPT_PARTS)) {
    passages.push({ kind: "code", text: text.slice(start, match.index), start });
    passages.push({ kind: match[1] === undefined ? "text" : "comment", text: match[0], start: match.index });
    start = match.index + match[0].length;
  }
  return [...passages, { kind: "code", text: text.slice(start), start }];
}

const UNITS: Readonly<Record<string, RegExp>> = {
  milliseconds: /_MS$/,
  seconds: /_SECONDS$|_S$/,
  minutes: /_MINUTES$/,
  days: /_DAYS$/,
  bytes: /_BYTES$/,
};
const CONSTANT =
  /\/\*\*(?:(?!\*\/)[\s\S])*?\b(milliseconds|seconds|minutes|days|bytes)\b(?:(?!\*\/)[\s\S])*?\*\/\s*(?:export )?const ([A-Z][A-Z0-9_]*) = (?:[\d_]+|[\d_]+ \* [^;]*);/gi;

/** Numbers that a comment begins by giving a unit, and whose name does not. */
function withoutUnit(file: string, text: string): Finding[] {
  if (!file.endsWith(".ts")) return [];
  return [...text.matchAll(CONSTANT)].flatMap(({ 0: all, 1: unit = "", 2: name = "", index }) => {
    const isStated = new RegExp(`^/\\*\\*[\\s*]*${unit}`, "i").test(all);
    if (!isStated || UNITS[unit.toLowerCase()]?.test(name) !== false) return [];
    return [
      { file, line: lineAt(text, index + all.length), found: name, say: `its unit at the end (${unit.toLowerCase()})` },
    ];
  });
}

/** The last three are for the staging tables of imports. */
const VERBS = /^(find|list|count|insert|update|delete|lock|claim|notify|create|copy|truncate)(?![a-z])/;

/** Statements of a noun: functions and prepared statements that a *queries.ts exports. */
function withoutVerb(file: string, text: string): Finding[] {
  if (!file.endsWith("queries.ts")) return [];
  return [...text.matchAll(/^export (?:async )?(?:function|const) ([a-z]\w*)/gm)].flatMap(({ 1: name = "", index }) =>
    VERBS.test(name)
      ? []
      : [
          {
            file,
            line: lineAt(text, index),
            found: name,
            say: "find, list, count, insert, update, delete, lock, claim or notify",
          },
        ],
  );
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

const files = execFileSync("git", ["ls-files", "--", ...process.argv.slice(2)], { encoding: "utf8" })
  .split("\n")
  .filter((file) => CHECKED.test(file) && !UNCHECKED.test(file))
  // git lists a deleted file until its deletion is staged.
  .filter((file) => existsSync(file));
const findings = files.flatMap((file) => {
  const text = readFileSync(file, "utf8");
  return [...retiredIn(file, text), ...withoutUnit(file, text), ...withoutVerb(file, text)];
});
for (const { file, line, found, say } of findings) console.log(`${file}:${line}  ${found}  → ${say}`);
if (findings.length > 0) {
  console.log(`${findings.length} to change. Exceptions, with their reason, belong in tools/retired-words.ts.`);
  process.exitCode = 1;
}
