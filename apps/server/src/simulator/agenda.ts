/** What is to be done at later moments of simulated time. */
export interface Agenda {
  at(moment: number, act: () => void): void;
  /** Does what is due up to a moment, in the order of its moments. What that adds is done too, where it is due. */
  runUntil(moment: number): void;
}

/** An empty agenda: a binary heap, since a day of a large city holds many thousand entries. */
export function createAgenda(): Agenda {
  const heap: { readonly moment: number; readonly order: number; readonly act: () => void }[] = [];
  let made = 0;
  const isBefore = (a: number, b: number) => {
    const [left, right] = [heap[a], heap[b]];
    if (left === undefined || right === undefined) return left !== undefined;
    return left.moment === right.moment ? left.order < right.order : left.moment < right.moment;
  };
  const swap = (a: number, b: number) => {
    const [left, right] = [heap[a], heap[b]];
    if (left !== undefined && right !== undefined) [heap[a], heap[b]] = [right, left];
  };
  const takeFirst = () => {
    swap(0, heap.length - 1);
    const first = heap.pop();
    for (let at = 0, next = 0; ; at = next) {
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < heap.length && isBefore(child, next)) next = child;
      if (next === at) return first;
      swap(at, next);
    }
  };
  return {
    at(moment, act) {
      heap.push({ moment, order: made++, act });
      for (let at = heap.length - 1; at > 0;) {
        const parent = Math.floor((at - 1) / 2);
        if (!isBefore(at, parent)) return;
        swap(at, parent);
        at = parent;
      }
    },
    runUntil(moment) {
      while ((heap[0]?.moment ?? Number.POSITIVE_INFINITY) <= moment) takeFirst()?.act();
    },
  };
}
