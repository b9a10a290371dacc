import type { BatchResult } from "@bikeshare/contract";
import { describe, expect, it } from "vitest";
import type { Answer, Command, PostBatch } from "./operator-client.ts";
import { createSender } from "./sender.ts";

interface Sent {
  readonly path: string;
  readonly items: readonly { readonly id: string; readonly at?: string }[];
  readonly key: string;
}

/** Returns a sender whose service first gives these answers, and then always "done". */
function open(answers: Answer[] = []) {
  const sent: Sent[] = [];
  const answered: string[] = [];
  const requests: string[] = [];
  let keys = 0;
  const post: PostBatch = (path, items, key) => {
    sent.push({ path, items: items as Sent["items"], key });
    const results = items.map((item): BatchResult => ({
      id: (item as Command["item"]).id,
      outcome: "updated",
      error: null,
      warning: null,
    }));
    return Promise.resolve(answers.shift() ?? { kind: "done", results });
  };
  const sender = createSender({
    post,
    newKey: () => `key-${++keys}`,
    onAnswer: ({ item }, { outcome }) => answered.push(`${item.id} ${outcome}`),
    onRequest: (outcome) => requests.push(outcome),
  });
  return { sender, sent, answered, requests };
}

function report(bikeId: string, n: number): Command {
  return {
    path: "bikes/reports",
    subjectId: bikeId,
    item: { id: bikeId, at: `2026-01-01T00:00:00.${String(n).padStart(3, "0")}Z` },
  };
}
const retry: Answer = { kind: "retry", reason: "connection reset", afterMs: 0 };

describe("a sender", () => {
  it("repeats the very same request, with the same Idempotency-Key, until it is answered", async () => {
    const { sender, sent, answered, requests } = open([retry, retry]);
    sender.send(report("bike-1", 1));
    expect(await sender.flush(5_000)).toBe(true);
    expect(sent).toHaveLength(3);
    expect(new Set(sent.map((request) => JSON.stringify(request))).size).toBe(1);
    expect(answered).toEqual(["bike-1 updated"]);
    expect(requests).toEqual(["retry", "retry", "done"]);
    await sender.close();
  });

  it("sends what concerns one bike in order, in batches of one path and at most 100 items", async () => {
    const { sender, sent } = open([retry]);
    for (let n = 0; n < 500; n++) {
      sender.send(report(`bike-${n % 3}`, n));
      if (n % 120 === 0) sender.send({ path: "rides/end", subjectId: `bike-${n % 3}`, item: { id: `ride-${n}` } });
    }
    expect(await sender.flush(5_000)).toBe(true);
    const acknowledged = [...new Map(sent.map((request) => [request.key, request])).values()];
    expect(acknowledged.every(({ items }) => items.length <= 100)).toBe(true);
    for (const bike of ["bike-0", "bike-1", "bike-2"]) {
      const instants = acknowledged.flatMap(({ items }) => items.filter(({ id }) => id === bike).map(({ at }) => at));
      expect(instants).toEqual([...instants].sort((a = "", b = "") => (a < b ? -1 : 1)));
      expect(instants).toHaveLength(bike === "bike-2" ? 166 : 167);
    }
    await sender.close();
  });

  it("goes on after a batch that is rejected as a whole", async () => {
    const { sender, answered, requests } = open([{ kind: "rejected", reason: "unauthorized" }]);
    sender.send({ path: "rides/cancel", subjectId: "bike-1", item: { id: "ride-1" } });
    sender.send(report("bike-1", 1));
    expect(await sender.flush(5_000)).toBe(true);
    expect(requests).toEqual(["rejected", "done"]);
    expect(answered).toEqual(["bike-1 updated"]);
    await sender.close();
  });

  it("closes while the service is away, and keeps count of what was not acknowledged", async () => {
    const { sender } = open(Array.from({ length: 100 }, () => ({ ...retry, after: 60_000 })));
    sender.send(report("bike-1", 1));
    sender.send({ path: "rides/end", subjectId: "bike-1", item: { id: "ride-1" } });
    expect(await sender.flush(40)).toBe(false);
    await sender.close();
    expect(sender.waiting()).toBe(2);
  });
});
