import { Link, useLocation } from "wouter-preact";
import { Notice } from "../components/notice.tsx";
import { listedPages } from "../membership-pages.ts";
import { useCurrentMembership, useSignedIn } from "../session/session.ts";
import { useUrlState } from "./url-state.ts";

/** Tells the operator's people that they are reading a partner's pages, and links to that partner's other pages. */
export function VisitNotice() {
  const { memberships } = useSignedIn();
  const [path] = useLocation();
  const { link } = useUrlState();
  const current = useCurrentMembership();
  const [, area, encoded = ""] = path.split("/");
  // A membership of the operator has no partner.
  if (area !== "partners" || current?.partner_id !== null) return null;
  const id = decodeURIComponent(encoded);
  if (memberships.some(({ partner_id }) => partner_id === id)) return null;
  return (
    <Notice tone="info" title="You are viewing a partner’s pages">
      <p>
        {current.role === "admin" ? "You can resend deliveries, but change nothing else. " : "You cannot change them. "}
        Your visit is in the partner’s audit log.
      </p>
      <nav class="row" aria-label="The partner’s pages">
        {listedPages({ partner_id: id }).map((page) => (
          <Link key={page.path} href={link(page.path.replace(":partner_id", encoded))}>
            {page.title}
          </Link>
        ))}
        <Link href={link(`/operator/partners/${encoded}`)}>Back to the operator’s pages</Link>
      </nav>
    </Notice>
  );
}
