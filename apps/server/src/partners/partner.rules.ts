/** `suspended`: keys are refused and deliveries held until it is resumed. `removed`: for good. */
export type PartnerStatus = "active" | "suspended" | "removed";

/** How a partner stands. */
export function partnerStatus({
  suspended_at: suspendedAt,
  removed_at: removedAt,
}: {
  readonly suspended_at: Date | null;
  readonly removed_at: Date | null;
}): PartnerStatus {
  if (removedAt !== null) return "removed";
  return suspendedAt === null ? "active" : "suspended";
}
