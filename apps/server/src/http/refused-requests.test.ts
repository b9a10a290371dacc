import { createTestClock } from "@bikeshare/test-kit";
import { expect, it } from "vitest";
import { createRefusedRequests } from "./refused-requests.ts";

function makeRefusedRequests() {
  const clock = createTestClock();
  const lines: object[] = [];
  const counted: string[] = [];
  const refused = createRefusedRequests({
    metrics: { refused: (reason) => counted.push(reason), compromised: (where) => counted.push(where) },
    log: {
      info: (detail, message) => lines.push({ level: "info", ...detail, message }),
      warn: (detail, message) => lines.push({ level: "warn", ...detail, message }),
    },
    clock,
  });
  return { ...refused, clock, lines, counted };
}

const message = "requests refused";

it("logs the first rejected request of an address or key at once, and later ones as one line a minute with their number", () => {
  const { refused, flush, clock, lines, counted } = makeRefusedRequests();
  for (let n = 0; n < 100; n++) refused("unknown_key", { address: "192.0.2.1" });
  refused("rate_limited", { address: "192.0.2.1", keyId: "key_1" });
  expect(lines).toEqual([
    { level: "info", address: "192.0.2.1", refused: { unknown_key: 1 }, message },
    { level: "info", keyId: "key_1", address: "192.0.2.1", refused: { rate_limited: 1 }, message },
  ]);
  clock.advance(59_999);
  refused("malformed_credentials", { address: "192.0.2.1" });
  flush();
  expect(lines).toHaveLength(2);
  clock.advance(1);
  flush();
  expect(lines.slice(2)).toEqual([
    { level: "info", address: "192.0.2.1", refused: { unknown_key: 99, malformed_credentials: 1 }, message },
  ]);
  clock.advance(60_000);
  flush();
  expect(lines).toHaveLength(3);
  expect(counted).toHaveLength(102);
});

it("however many addresses there are, a minute has about fifty lines: the rest are one, with their number", () => {
  const { refused, flush, clock, lines } = makeRefusedRequests();
  const attack = () => {
    for (let n = 0; n < 5_000; n++) refused("unknown_key", { address: `2001:db8:0:${n.toString(16)}::/64` });
  };
  attack();
  expect(lines).toHaveLength(51);
  for (let minute = 0; minute < 3; minute++) {
    clock.advance(60_000);
    attack();
    flush();
  }
  expect(lines.length).toBeLessThanOrEqual(4 * 51);
  expect(lines).toContainEqual({ level: "info", others: true, refused: { unknown_key: 4950 }, message });
});

it("a compromised key is a warning that names it", () => {
  const { compromised, lines, counted } = makeRefusedRequests();
  compromised("key_1", "url", "192.0.2.1");
  expect(lines).toMatchObject([{ level: "warn", keyId: "key_1", where: "url", address: "192.0.2.1" }]);
  expect(counted).toEqual(["url"]);
});
