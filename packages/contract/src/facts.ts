/** The facts that an operator can set for GBFS, without their zod schemas. The dashboard builds its forms from them. */
export * from "./gbfs/facts.ts";
export { usualZoneRules } from "./gbfs/zone-rules.ts";
export type { Fields, FieldType, LocalText, MultiPolygon } from "./gbfs/types.ts";
