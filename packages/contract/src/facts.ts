/** The facts that an operator can set for GBFS, without the schemas: the dashboard makes its forms of them. */
export * from "./gbfs/facts.ts";
export { usualZoneRules } from "./gbfs/zone-rules.ts";
export type { Fields, FieldType, LocalText, MultiPolygon } from "./gbfs/types.ts";
