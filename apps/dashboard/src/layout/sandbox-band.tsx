import { Link } from "wouter-preact";
import { listedPages, pageAddress } from "../membership-pages.ts";
import { useCurrentMembership, useSignedIn } from "../session/session.ts";

/** A band above every page of a sandbox. It says that the page shows test data, and links to the live data if it can. */
export function SandboxBand() {
  const { memberships } = useSignedIn();
  const current = useCurrentMembership();
  if (current?.is_sandbox !== true) return null;
  const live = memberships.find(({ partner_id, is_sandbox }) => partner_id === current.partner_id && !is_sandbox);
  const [first] = live === undefined ? [] : listedPages(live);
  return (
    <p class="sandbox-band" role="note">
      <strong>Sandbox</strong> Test data. Live data is not affected.
      {live !== undefined && first !== undefined && (
        <Link href={pageAddress(first, live, memberships)}>Switch to live</Link>
      )}
    </p>
  );
}
