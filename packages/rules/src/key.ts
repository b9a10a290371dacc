/** Whether a known key works at an instant. */
export function keyStatus(
  key: { readonly expires_at: Date | null; readonly revoked_at: Date | null },
  now: number,
): "active" | "expired" | "revoked" {
  // A rotated key is revoked in the future: it works until then.
  if (key.revoked_at !== null && key.revoked_at.getTime() <= now) return "revoked";
  if (key.expires_at !== null && key.expires_at.getTime() <= now) return "expired";
  return "active";
}
