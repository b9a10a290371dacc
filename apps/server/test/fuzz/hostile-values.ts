import { anyText } from "@bikeshare/test-kit/text";
import fc from "fast-check";

/** Names of properties that every JavaScript object has. */
const PROTOTYPE_NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];

/** Texts that break careless code. */
export const hostileTexts: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "\u0000",
    "a\u0000b",
    "\ud800",
    "\udfff\ud800",
    "\u202e\u2066",
    "\ufeff",
    "\u2028",
    "😀".repeat(70),
    "a".repeat(256),
    "a".repeat(20_000),
    "..",
    "../../../etc/passwd",
    "%",
    "%00",
    "%2e%2e%2f",
    "' or 1=1 --",
    "$1",
    "{{7*7}}",
    "${jndi:ldap://127.0.0.1/a}",
    "<script>alert(1)</script>",
    "\r\nSet-Cookie: a=b",
    "null",
    "undefined",
    "NaN",
    "Infinity",
    "-0",
    "1e309",
    "0x10",
    "٣",
    "9223372036854775808",
    "-1",
    "1.5",
    "9".repeat(400),
    "2026-02-30T00:00:00Z",
    "+275760-09-13T00:00:00.001Z",
    "-000001-01-01T00:00:00Z",
    "2026-06-01T24:00:60Z",
    "0000-00-00T00:00:00Z",
    ...PROTOTYPE_NAMES,
  ),
  anyText({ maxLength: 12 }),
);

/** Draws valid JSON, as text, that no endpoint expects. */
const hostileJson: fc.Arbitrary<string> = fc.oneof(
  hostileTexts.map((hostile) => JSON.stringify(hostile)),
  fc.constantFrom(
    "null",
    "true",
    "[]",
    "{}",
    "-0",
    "0.1",
    "1e400",
    "-1e-400",
    "9007199254740993",
    "123456789012345678901234567890",
    '"\\ud800"',
    '"\\u0000"',
    '{"__proto__":{"admin":true}}',
    '{"constructor":{"prototype":{"a":1}}}',
    '{"a":1,"a":2}',
    `${"[".repeat(2_000)}${"]".repeat(2_000)}`,
    `${'{"a":'.repeat(500)}1${"}".repeat(500)}`,
    `[${"0,".repeat(1_200)}0]`,
  ),
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
);

/** Bodies that are not valid JSON, or only just. */
export const brokenBodies: fc.Arbitrary<string> = fc.constantFrom(
  "",
  "{",
  '{"a":}',
  "nul",
  "{'a':1}",
  "[1,]",
  "\u00ff\u00fe{}",
  "\u00ef\u00bb\u00bf{}",
  '{"a":"\u00ed\u00a0\u0080"}',
  '{"a":"\u00c3"}',
  "a=b&c=d",
  '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--',
  "[".repeat(100_000),
  `"${"a".repeat(1_100_000)}"`,
);

const MARK = "@@replaced@@";

/** Draws how to spoil a JSON value: at which path, and in which way. */
export const spoilings = fc.record({
  at: fc.nat(40),
  how: fc.constantFrom("replace", "replace", "replace", "remove", "twice", "unknown"),
  by: hostileJson,
  name: fc.constantFrom("unknown", ...PROTOTYPE_NAMES),
});

/** Returns a value as JSON text, with one of its parts spoiled. */
export function spoiled(
  value: unknown,
  { at, how, by, name }: { at: number; how: string; by: string; name: string },
): string {
  const paths = pathsIn(value);
  const path = paths[at % paths.length] ?? [];
  const copy: unknown = structuredClone(value);
  const parent = path.slice(0, -1).reduce((of, key) => Reflect.get(of as object, key) as unknown, copy);
  const key = path.at(-1);
  if (key === undefined || typeof parent !== "object" || parent === null) return how === "replace" ? by : text(copy);
  if (how === "remove") Reflect.deleteProperty(parent, key);
  else Reflect.set(parent, key, MARK);
  const marked = JSON.stringify(MARK);
  const before = text(Reflect.get(valueAt(value, path.slice(0, -1)) as object, key));
  if (how === "twice") return text(copy).replace(marked, () => `${before},${JSON.stringify(key)}:${by}`);
  if (how === "unknown") return text(copy).replace(marked, () => `${before},${JSON.stringify(name)}:${by}`);
  return text(copy).replace(marked, () => by);
}

/** Returns a value as JSON; null if JSON cannot represent it. */
function text(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((of, key) => Reflect.get(of as object, key) as unknown, value);
}

/** Returns the path of every part of a value, as a list of keys. The path of the value itself is the first. */
function pathsIn(value: unknown, before: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [[...before]];
  return [[...before], ...Object.entries(value).flatMap(([key, each]) => pathsIn(each, [...before, key]))];
}
