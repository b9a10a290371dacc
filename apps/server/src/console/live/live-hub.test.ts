import { expect, it } from "vitest";
import { type LiveEvent, LiveHub, type Viewer } from "./live-hub.ts";

interface TestViewer extends Viewer {
  readonly got: LiveEvent[];
  readonly isEnded: () => boolean;
}

/** @param capacity how many events the viewer accepts before it counts as slow */
function viewer(personId = "person_1", capacity = Number.POSITIVE_INFINITY): TestViewer {
  const got: LiveEvent[] = [];
  let ended = false;
  return {
    personId,
    got,
    isEnded: () => ended,
    send: (event) => got.push(event) <= capacity,
    end: () => (ended = true),
  };
}

it("passes changes on to those who watch the same, and to nobody else", () => {
  const hub = new LiveHub("a");
  const [mine, other] = [viewer(), viewer("person_2")];
  hub.add("deliveries\nmain\ne1", mine, undefined);
  hub.add("deliveries\nmain\ne2", other, undefined);
  hub.publish("deliveries\nmain\ne1", "deliveries", { ids: ["x"] });
  expect(mine.got).toEqual([{ id: "a-1", name: "deliveries", data: '{"ids":["x"]}' }]);
  expect(other.got).toEqual([]);
});

it("gives whoever comes back what was missed, and tells of a gap where that is not known", () => {
  const hub = new LiveHub("a");
  const stays = viewer();
  hub.add("k", stays, undefined);
  for (const n of [1, 2, 3]) hub.publish("k", "deliveries", n);
  const back = viewer("person_2");
  hub.add("k", back, stays.got[0]?.id);
  expect(back.got.map(({ data }) => data)).toEqual(["2", "3"]);
  const stranger = viewer("person_3");
  hub.add("k", stranger, "other-process-7");
  expect(stranger.got.map(({ name }) => name)).toEqual(["gap"]);
});

it("keeps a bounded number of events for those who come back", () => {
  const hub = new LiveHub("a");
  const stays = viewer();
  hub.add("k", stays, undefined);
  for (let n = 0; n < 150; n++) hub.publish("k", "deliveries", n);
  const late = viewer("person_2");
  hub.add("k", late, stays.got[10]?.id);
  expect(late.got.map(({ name }) => name)).toEqual(["gap"]);
  const soon = viewer("person_3");
  hub.add("k", soon, stays.got[60]?.id);
  expect(soon.got).toHaveLength(89);
});

it("cuts a slow reader off, and nobody else", () => {
  const hub = new LiveHub("a");
  const [slow, quick] = [viewer("person_1", 1), viewer("person_2")];
  hub.add("k", slow, undefined);
  hub.add("k", quick, undefined);
  for (const n of [1, 2, 3]) hub.publish("k", "deliveries", n);
  expect(slow.isEnded()).toBe(true);
  expect(slow.got).toHaveLength(2);
  expect(quick.got).toHaveLength(3);
});

it("takes six streams of one person, a hundred of one partner and 500 in all, and more when some have ended", () => {
  const hub = new LiveHub("a");
  const leave = Array.from({ length: 6 }, (_, n) => hub.add(`k${n}`, viewer(), undefined));
  expect(() => hub.add("k", viewer(), undefined)).toThrow(/Too many pages/);
  leave[0]?.();
  leave[0]?.();
  expect(() => hub.add("k", viewer(), undefined)).not.toThrow();
  for (let n = 0; n < 99; n++) hub.add("k", viewer(`person_${n + 2}`), undefined);
  expect(() => hub.add("k", viewer("person_late"), undefined)).toThrow(/Too many pages/);
  for (let n = 0; n < 395; n++) hub.add(`k${n}`, viewer(`person_${n + 101}`), undefined);
  expect(() => hub.add("k-last", viewer("person_last"), undefined)).toThrow(/Too many pages/);
});

it("watches nothing once everybody has left, and ends all streams when it closes", () => {
  const hub = new LiveHub("a");
  const [one, two] = [viewer(), viewer("person_2")];
  const leave = hub.add("k1", one, undefined);
  hub.add("k2", two, undefined);
  leave();
  expect(hub.watched()).toEqual(["k2"]);
  hub.close();
  expect(hub.watched()).toEqual([]);
  expect([one.isEnded(), two.isEnded()]).toEqual([true, true]);
});
