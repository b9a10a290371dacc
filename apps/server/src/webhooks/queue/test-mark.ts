/**
 * Ends the id of every test delivery, by which receivers, too, know it. At the end, because ids sort by the time in their
 * beginning.
 */
export const TEST_MARK = "_test";

/** Whether a delivery is a test, which somebody asked for and nothing happened for. */
export function isTestDelivery(id: string): boolean {
  return id.endsWith(TEST_MARK);
}
