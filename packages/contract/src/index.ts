export * from "./alert-words.ts";
export * from "./alerts.ts";
export * from "./batch.ts";
export * from "./batch-warnings.ts";
export * from "./bikes.ts";
export * from "./dashboard-links.ts";
export * from "./deliveries.ts";
export { type Deprecation, deprecationHeaders } from "./deprecation.ts";
export type { ConsoleNeeds, EndpointMetadata } from "./endpoint.ts";
export * from "./error-catalogue.ts";
export * from "./error-messages.ts";
export * from "./errors.ts";
export * from "./event-names.ts";
export * from "./events.ts";
export * from "./export-words.ts";
export * from "./exports.ts";
export * from "./gbfs.ts";
export type { DescribedFacts } from "./gbfs/fact-schemas.ts";
export * from "./gbfs/facts.ts";
export * from "./gbfs/feeds.ts";
export { type UsualZoneRule, usualZoneRules } from "./gbfs/zone-rules.ts";
export {
  type Field,
  type FieldType,
  type Fields,
  type GbfsVersion,
  gbfsVersions,
  hasField,
  INTERNATIONAL_PHONE,
  isAtLeast,
  type LocalText,
  type MultiPolygon,
  requiresField,
  type ValueOf,
  wordsIn,
} from "./gbfs/types.ts";
export * from "./health.ts";
export * from "./history.ts";
export * from "./history-words.ts";
export * from "./idempotency.ts";
export * from "./limits.ts";
export * from "./mcp.ts";
export * from "./mds/words.ts";
export * from "./me.ts";
export * from "./messages.ts";
export { withNulls } from "./named-object.ts";
export * from "./operator-items.ts";
export * from "./operator.ts";
export * from "./paging.ts";
export * from "./partner.ts";
export * from "./regions.ts";
export * from "./reservations.ts";
export * from "./rides.ts";
export * from "./scopes.ts";
export * from "./stations.ts";
export * from "./sum-words.ts";
export * from "./sums.ts";
export { type BoundingBox, isPathStep } from "./text-rules.ts";
export * from "./thresholds.ts";
export * from "./values.ts";
export * from "./vehicle-types.ts";
