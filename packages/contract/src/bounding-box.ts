import { z } from "zod";
import { issueText } from "./messages.ts";
import { givenOnce } from "./time.ts";

/** A rectangle in WGS 84 degrees, borders included; with west > east it crosses the antimeridian. */
export interface BoundingBox {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** The parts of a bounding box in the order in which they are written, and the degrees that each may have. */
const PARTS = [
  ["min_lon", 180],
  ["min_lat", 90],
  ["max_lon", 180],
  ["max_lat", 90],
] as const;

/** A rectangle on the map in a query string. */
export const boundingBoxParam = z.string(givenOnce()).transform((text, ctx): BoundingBox => {
  const issue = (message: string) => {
    ctx.addIssue({ code: z.ZodIssueCode.custom, message });
    return z.NEVER;
  };
  const numbers = text.split(",").map(degrees);
  const [west, south, east, north] = numbers;
  if (
    numbers.length !== PARTS.length ||
    west === undefined ||
    south === undefined ||
    east === undefined ||
    north === undefined
  )
    return issue(issueText("boundingBox"));
  for (const [index, [name, most]] of PARTS.entries()) {
    const number = numbers[index] ?? 0;
    if (Math.abs(number) > most)
      return issue(issueText("boundingBoxDegrees", { part: name, bound: most, value: number }));
  }
  if (south > north) return issue(issueText("boundingBoxOrder", { south, north }));
  return { west, south, east, north };
});

function degrees(text: string): number | undefined {
  return /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}
