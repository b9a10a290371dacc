import type { Region } from "@bikeshare/contract";

/**
 * The regions of a system: each that the operator or a source names, or that a station is in.
 * @param own what the operator says: it goes before what sources say
 * @param said what sources say, the first source first
 * @param used ids that stations name
 */
export function mergeRegions(own: readonly Region[], said: readonly Region[], used: readonly string[]): Region[] {
  const unnamed = used.map((id) => ({ id, name: id }));
  // Of two with one id a map keeps the last.
  const byId = new Map([...unnamed, ...said.toReversed(), ...own].map((region) => [region.id, region]));
  return [...byId.values()];
}
